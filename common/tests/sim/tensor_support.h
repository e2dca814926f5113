// The tensor core's arithmetic and operand layouts once more, written from the measurements in their integer form and
// independent of the simulator's own: what its instructions are checked against.
#pragma once

#include <cstdint>
#include <vector>

namespace sim::test {

enum class Element { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, S8, U8 };
int bytes_of(Element element);  ///< in shared memory; of four and six bits: 1
int bits_of_element(Element element);

/// One output of one instruction. Exact: products and accumulator aligned to the largest exponent, truncated to
/// `fraction_bits`, added, truncated to FP32 (or rounded to F16). Products are multiplied by 2^scale. `a` and `b` are
/// bit patterns; `c` is FP32 bits (F16 bits with `half`).
uint32_t exact_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                      const std::vector<uint32_t>& b, bool negate_a, bool negate_b, uint32_t c, bool accumulate,
                      int fraction_bits = 25, bool half = false, int scale = 0);
/// One output of FP4 with factors: of 64 products, each sixteen are summed, multiplied by their factors, aligned to the
/// greatest exponent of factors and accumulator with 35 binary places, truncated, added, truncated to FP32. Four
/// factors each, as bytes.
uint32_t fp4_output(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, bool negative,
                    const std::vector<uint32_t>& a_factors, const std::vector<uint32_t>& b_factors, bool ue8m0,
                    uint32_t c, bool accumulate);
/// The same by fused multiply-adds in order of k, of BF16 by BF16 in pairs, without subnormal numbers; NaN as above.
uint32_t fast_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                     const std::vector<uint32_t>& b, bool negate_a, bool negate_b, uint32_t c, bool accumulate);
/// Integers.
uint32_t integer_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                        const std::vector<uint32_t>& b, uint32_t c, bool accumulate);

/// An operand in shared memory, as its descriptor describes it.
enum class Swizzle { None, B32, B64, B128, B128Atom32 };
struct OperandLayout {
  Swizzle swizzle = Swizzle::B128;
  bool mn_major = false;
  uint32_t start = 0x800, leading = 0, stride = 1024;  ///< bytes
  uint32_t base_offset = 0;
};
/// Physical shared offset of element (row, k) of elements of so many bytes.
uint32_t element_offset(const OperandLayout& layout, int element_bytes, int row, int k);
/// What tcgen05's instruction descriptor calls a type, in the kinds that have it.
uint32_t format_code(Element element);
uint64_t tcgen05_descriptor(const OperandLayout& layout);
uint64_t wgmma_descriptor(const OperandLayout& layout);
/// A dense layout of so many rows and one instruction's K from `start` on, with the smallest strides that it can have.
OperandLayout dense_layout(Swizzle swizzle, bool mn_major, int element_bytes, int rows, uint32_t start);

/// Element `i` of a row of 32 bytes. Of four and six bits, sixteen lie packed at the beginning of 16 bytes.
uint32_t element_of_row(const std::vector<uint8_t>& row, Element element, int i);
/// The K elements of a row.
std::vector<uint32_t> read_row(const std::vector<uint8_t>& shared, uint32_t shared_begin, const OperandLayout& layout,
                               Element element, int row);

/// Random bytes that make sensible elements: few infinities and NaNs, exponents close together.
void fill_elements(std::vector<uint8_t>& bytes, Element element, uint64_t seed);

}  // namespace sim::test
