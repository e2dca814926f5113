// How the harness gives up: one exception that carries the exit code and one sentence for the user.
#pragma once

#include <stdexcept>
#include <string>

namespace harness {

inline constexpr int EXIT_RIGHT = 0;
inline constexpr int EXIT_WRONG = 1;     ///< a result failed verification
inline constexpr int EXIT_USAGE = 2;     ///< bad arguments, unsupported shape, not enough memory, unwritable file
inline constexpr int EXIT_CUDA = 3;      ///< the CUDA runtime or cuBLAS reported an error
inline constexpr int EXIT_SKIPPED = 77;  ///< no suitable device; CTest and Automake read 77 as "skipped"

struct Failure : std::runtime_error {
  Failure(int exit_code, const std::string& sentence) : std::runtime_error(sentence), exit_code(exit_code) {}
  int exit_code;
};

inline Failure usage_error(const std::string& sentence) { return Failure(EXIT_USAGE, sentence); }

}  // namespace harness
