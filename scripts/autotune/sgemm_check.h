// Is an FP32 product right? What the harness's verification is to the levels, for SGEMM.
//
// D was poisoned (every byte 0xFF) before the kernel ran. All of these must hold:
//  - guard bands before and after D, and the columns between n and its pitch, still hold the poison;
//  - every element is finite and |D - R| <= 2^-22 |a_i| |b_j| + 2^-23 sqrt(K) |R|, with the norms of A's row and B's
//    column: rounding errors of the K additions are a random walk, in steps as large as the sums on the way to R are,
//    and another order of the same additions walks another way; inputs rounded to TF32, or a k that was left out, lie
//    above;
//  - whole-number inputs: D is the exact sum (while 4K <= 2^24).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/harness/inputs.h"
#include "common/harness/shape.h"

namespace autotune {

/// A [m,k] and B [k,n], row-major, in host memory.
struct SgemmInputs {
  SgemmInputs(const harness::Shape& shape, harness::Init init, std::uint64_t seed);

  harness::Shape shape;
  harness::Init init;
  std::unique_ptr<float[]> a, b;
  std::vector<double> a_norms, b_norms;  ///< of A's rows and B's columns
};

/// D as it came back from the device: row-major [m, n] with row pitch `ldd`, and the bytes next to it.
struct SgemmOutput {
  const float* d;
  std::int64_t ldd;
  std::span<const std::byte> before = {}, after = {};
};

/// A * B on the CPU, in FP64, rounded at the end; row-major with pitch n.
std::unique_ptr<float[]> sgemm_on_cpu(const SgemmInputs& inputs);

/// What is wrong with `output`, in a sentence without its full stop; empty if it is right. `reference` has pitch n.
std::string find_fault(const SgemmInputs& inputs, const SgemmOutput& output, const float* reference);

/// Likewise for the reference itself, whose elements are compared with FP64 in samples.
std::string find_fault_in_reference(const SgemmInputs& inputs, const float* reference);

}  // namespace autotune
