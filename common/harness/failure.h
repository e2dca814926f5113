// How the harness gives up: one exception that carries the exit code and one sentence for the user.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
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

/// For the main function of a program that measures: returns what `act` returns. If `act` throws, prints its sentence
/// on standard error and ends the program at once, since the runtime's exit handlers may wait for a kernel that never
/// ends.
template <typename Act>
int end_at_failure(const char* program, const Act& act) {
  const auto end = [program](int exit_code, const std::string& sentence) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", program, sentence.c_str());
    std::_Exit(exit_code);
  };
  try {
    return act();
  } catch (const Failure& failure) { end(failure.exit_code, failure.what()); } catch (const std::exception& error) {
    end(EXIT_CUDA, std::string(error.what()) + ".");
  }
  return EXIT_CUDA;  // never reached
}

}  // namespace harness
