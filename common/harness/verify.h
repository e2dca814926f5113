// Is D right? The checks of a result, and the explanation when it is wrong.
//
// D was poisoned (every byte 0xFF) before the kernel ran. All of these must hold:
//  - guard bands before and after D, and the columns between n and ldd, still hold the poison;
//  - no element is NaN or infinite (the inputs never are);
//  - cosine(D, reference) >= 0.99999. BF16 rounding alone costs 1.4e-6;
//  - 1 - 2 sum(D R) / sum(D^2 + R^2) < 1e-5: the cosine alone accepts a D that is twice the reference;
//  - every element: |D - R| <= 2^-8 |R| + ceil(K/16) (2^-23 + 17 * 2^-25) * 6 |a_i| |b_j| / sqrt(K), with row norms
//    |a_i|, |b_j|. The first term is the rounding to BF16; the second the truncations of a tensor core, once per K=16
//    step, for partial sums of up to 6 standard deviations. A step that was left out shows, up to K = 2^19;
//  - above that the second term hides what 64 products add. Then the errors of some elements are compared with what
//    each step of 64 adds to them: if they go together, that step is missing, or was added twice. This shows up to
//    K = 3 * 2^20, and there a right D is still accepted: near 2^22 the truncations of a tensor core alone exceed the
//    1e-5 above. So no greater K is judged at all (require_verifiable);
//  - whole-number inputs, as long as 4K <= 2^24: D is the exact sum rounded to BF16, but for the sign of a zero;
//  - an all-zero reference needs an all-zero D.
// Besides, some elements are recomputed in FP64 straight from the inputs, which also checks the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inputs.h"

namespace harness {

enum class Verify {
  full,    ///< every element against the reference, and the FP64 samples
  sample,  ///< the FP64 samples only; guard bands, poisoned columns, NaN and infinity are still looked for everywhere
  off,
};
inline constexpr std::string_view VERIFY_NAMES[] = {"full", "sample", "off"};  ///< in the order of Verify

/// D as it came back from the device: row-major [m, n] with row pitch `ldd` >= n, in host memory. The columns from n to
/// ldd are checked for stores past the row's end. The bytes next to D may be empty.
struct Output {
  const Bf16* d;
  std::int64_t ldd;
  std::span<const std::byte> before = {}, after = {};
};

inline constexpr int MAP_TILE = 128;  ///< edge of the tiles in which wrong elements are counted

struct Element {
  int m = -1, n = -1;
  Bf16 d = 0;
  double expected = 0, bound = 0;
};

struct Verdict {
  bool right = true;
  double cosine = 1;
  double scale_error = 0;           ///< 1 - 2 sum(D R) / sum(D^2 + R^2)
  double max_error = 0;             ///< the largest |D - R| of the finite elements compared
  std::int64_t compared = 0;        ///< elements with an expected value: all of D, or the FP64 samples
  std::int64_t samples = 0;         ///< elements recomputed in FP64
  std::int64_t wrong = 0;           ///< elements out of bounds, not finite or never written
  std::int64_t unwritten = 0;       ///< of these: still the poison
  std::int64_t not_finite = 0;      ///< of these: NaN or infinity that the kernel wrote
  std::int64_t different = -1;      ///< elements that are not the rounded reference, bit for bit; -1 if not compared
  Element worst;                    ///< the largest violation; m = -1 if there is none
  std::vector<std::string> faults;  ///< one sentence for each check that failed; empty if right
  std::string map;                  ///< which tiles and rows are wrong, for people; several lines; empty if right
  std::string hint;                 ///< what the wrong elements look like; empty if right or if nothing fits

  void reject(const std::string& fault) {
    right = false;
    faults.push_back(fault);
  }
};

inline constexpr int MAX_VERIFIED_K = 3 << 20;
inline constexpr int MAX_EXACT_K = 1 << 22;  ///< of whole-number inputs: 4K <= 2^24

/// Throws a usage error if K is beyond what the checks above hold for, with inputs of this kind. Zeros have no such K.
void require_verifiable(const Shape& shape, Init init);

/// The absolute part of the element bound, without the row norms: multiply by |a_i| |b_j|.
double accumulation_tolerance(int k);

/// Checks `output` against `reference`, which is row-major FP32 [m, n] with pitch n. Without a reference (nullptr) only
/// the FP64 samples are compared, as with Verify::sample. Throws what require_verifiable does.
Verdict verify(const Inputs& inputs, const Output& output, const float* reference);

/// FNV-1a, 64 bits, over the bytes of D's m x n values in row-major order, low byte first, whatever the pitch.
std::uint64_t digest(const Shape& shape, const Output& output);

}  // namespace harness
