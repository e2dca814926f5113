// What several tests of the harness need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/harness/bf16.h"
#include "common/harness/inputs.h"
#include "common/harness/verify.h"

namespace harness::test {

/// D in host memory as the harness gets it back: poisoned, with a padded pitch and guard bands.
struct HostD {
  static constexpr std::size_t GUARD = 64;  // elements

  explicit HostD(const Shape& shape, int padding = 8)
      : shape(shape), ldd(shape.n + padding), memory(2 * GUARD + std::size_t(shape.m) * ldd, BF16_POISON) {}

  Bf16& at(int m, int n) { return memory[GUARD + std::size_t(m) * ldd + n]; }

  Output output() const {
    const auto* bytes = reinterpret_cast<const std::byte*>(memory.data());
    const std::size_t guard_bytes = GUARD * sizeof(Bf16), all = memory.size() * sizeof(Bf16);
    return {.d = memory.data() + GUARD,
            .ldd = ldd,
            .before = {bytes, guard_bytes},
            .after = {bytes + all - guard_bytes, guard_bytes}};
  }

  /// d(m, n) everywhere.
  void fill(const std::function<float(int, int)>& d) {
    for (int m = 0; m < shape.m; ++m) {
      for (int n = 0; n < shape.n; ++n) at(m, n) = round_to_bf16(d(m, n));
    }
  }

  Shape shape;
  int ldd;
  std::vector<Bf16> memory;
};

/// The definition, in double: sum over k in [first, last) of a[m,k] b[n,k].
inline double exact(const Inputs& inputs, int m, int n, int first = 0, int last = -1) {
  double sum = 0;
  for (int k = first; k < (last < 0 ? inputs.shape.k : last); ++k) {
    sum += double(to_float(inputs.a[std::int64_t{m} * inputs.shape.k + k])) *
           double(to_float(inputs.b[std::int64_t{n} * inputs.shape.k + k]));
  }
  return sum;
}

/// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const;  ///< of the files in it, sorted

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

}  // namespace harness::test
