#include "exec/tensor/tcgen05/instruction.h"

#include <span>

#include "exec/core/op.h"

namespace sim::tcgen05 {

using tensor::Format;

void bad_instruction(uint32_t bits, const std::string& message) {
  throw Fault{Status::IllegalInstruction, "the instruction descriptor " + base::hex(bits) + " " + message};
}

namespace {

/// The types of A and B that a kind has, by their codes.
struct Code {
  uint32_t code;
  Format format;
};
constexpr Code kF16[] = {{0, Format::F16}, {1, Format::BF16}};
constexpr Code kTF32[] = {{2, Format::TF32}};
constexpr Code kF8F6F4[] = {
    {0, Format::E4M3}, {1, Format::E5M2}, {3, Format::E2M3}, {4, Format::E3M2}, {5, Format::E2M1}};
constexpr Code kI8[] = {{0, Format::U8}, {1, Format::S8}};
constexpr Code kF4[] = {{1, Format::E2M1x2}};

struct KindFacts {
  std::span<const Code> codes;
  const char* types;  ///< for messages
};
KindFacts facts_of(Kind kind) {
  switch (kind) {
    case Kind::F16: return {kF16, "kind::f16 has F16 = 0 and BF16 = 1"};
    case Kind::TF32: return {kTF32, "kind::tf32 has TF32 = 2"};
    case Kind::F8F6F4: return {kF8F6F4, "kind::f8f6f4 has E4M3 = 0, E5M2 = 1, E2M3 = 3, E3M2 = 4, E2M1 = 5"};
    case Kind::MXF8F6F4: return {kF8F6F4, "kind::mxf8f6f4 has E4M3 = 0, E5M2 = 1, E2M3 = 3, E3M2 = 4, E2M1 = 5"};
    case Kind::I8: return {kI8, "kind::i8 has U8 = 0, S8 = 1"};
    default: return {kF4, "kind::mxf4 and kind::mxf4nvf4 have E2M1 = 1"};
  }
}

Format format_of(uint32_t bits, const KindFacts& kind, uint32_t code, const char* operand) {
  for (const Code& each : kind.codes) {
    if (each.code == code) return each.format;
  }
  bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) + ": " + kind.types);
}

/// The fields that all kinds have at the same bits.
InstructionDescriptor decode_common(uint32_t bits, const Variant& v) {
  const KindFacts kind = facts_of(v.kind);
  InstructionDescriptor in{};
  in.n = static_cast<int>(bits >> 17 & 0x3F) * 8;
  in.m = static_cast<int>(bits >> 24 & 0x1F) * 16;
  in.negate_a = bits >> 13 & 1, in.negate_b = bits >> 14 & 1;
  in.a_mn_major = bits >> 15 & 1, in.b_mn_major = bits >> 16 & 1;
  in.a = format_of(bits, kind, bits >> 7 & 7, "A");
  in.b = format_of(bits, kind, bits >> 10 & 7, "B");
  in.sparse = bits >> 2 & 1;
  if (in.sparse != v.sparse) {
    bad_instruction(bits, in.sparse ? "says that A is sparse (bit 2), which is for tcgen05.mma.sp"
                                    : "says that A is dense (bit 2 is 0), but the instruction is tcgen05.mma.sp");
  }
  in.k = tensor::instruction_k(in.a) * (in.sparse ? 2 : 1);
  const auto check_transpose = [&](bool mn_major, Format format, const char* operand) {
    if (!mn_major || tensor::stored_bits(format) >= 8) return;
    bad_instruction(bits, std::string("asks to transpose ") + operand +
                              ", which is not supported for elements of four and six bits");
  };
  check_transpose(in.a_mn_major, in.a, "A"), check_transpose(in.b_mn_major, in.b, "B");
  return in;
}

void check_shape(uint32_t bits, const InstructionDescriptor& in, const Variant& v) {
  const std::string names = "names M = " + std::to_string(in.m) + ", N = " + std::to_string(in.n);
  if (v.stationary) {
    if ((in.m == 32 || in.m == 64 || in.m == 128) && (in.n == 64 || in.n == 128 || in.n == 256)) return;
    bad_instruction(bits, names + "; tcgen05.mma.ws has M = 32, 64 or 128 and N = 64, 128 or 256");
  }
  const int step = v.group == 1 ? 8 : 16;
  const bool n_ok = in.n >= step && in.n <= 256 && in.n % step == 0;
  if (is_scaled(v.kind)) {
    if (n_ok && in.m == 128 * v.group) return;
    if (n_ok && in.m == 128)
      bad_instruction(bits, names +
                                ": block scaling with M = 128 in a pair of CTAs is not supported: the ISA shows the "
                                "layout of B's factors only in figures");
    bad_instruction(bits, names + "; with block scaling and cta_group::" + std::to_string(v.group) +
                              (v.group == 1 ? " M is 128 and N a multiple of 8 up to 256"
                                            : " M is 128 or 256 (of the pair) and N a multiple of 16 up to 256"));
  }
  // N in steps of 8 with M = 128 is allowed by the ISA's table and refused by libraries: accepted here.
  const bool m_ok = v.group == 1 ? in.m == 64 || in.m == 128 : in.m == 128 || in.m == 256;
  if (!m_ok || !n_ok) {
    bad_instruction(bits, names + "; with cta_group::" + std::to_string(v.group) +
                              (v.group == 1 ? " M is 64 or 128 and N a multiple of 8 (M = 128: 16) up to 256"
                                            : " M is 128 or 256 (of the pair) and N a multiple of 16 up to 256"));
  }
  if (v.sparse && in.m != 128 * v.group)
    bad_instruction(bits, names +
                              ": a sparse A with 64 rows per CTA is not supported: the ISA shows the layout of its "
                              "metadata only in figures");
}

InstructionDescriptor decode_scaled(uint32_t bits, const Variant& v) {
  InstructionDescriptor in = decode_common(bits, v);
  if (bits & 3 || bits >> 3 & 1 || bits >> 6 & 1 || bits >> 24 & 7)
    bad_instruction(bits, "has reserved bits set (0, 1, 3, 6 or 24..26)");
  if (bits >> 31) {
    bad_instruction(
        bits, is_fp4(v.kind) ? "asks for K = 96 (bit 31), which sm_100a does not have" : "has reserved bit 31 set");
  }
  in.result = tensor::ResultFormat::F32;
  in.factors = v.factors;
  in.ue8m0 = bits >> 23 & 1;
  if (!in.ue8m0 && (v.kind != Kind::MXF4NVF4 || v.factors != 4))
    bad_instruction(bits,
                    "gives the factors the type UE4M3 (bit 23 is 0), which only kind::mxf4nvf4 with four factors "
                    "per row (.scale_vec::4X) has; UE8M0 is 1");
  in.b_factor = static_cast<int>(bits >> 4 & 3), in.a_factor = static_cast<int>(bits >> 29 & 3);
  for (const int id : {in.a_factor, in.b_factor}) {
    if (id % in.factors != 0)
      bad_instruction(bits, "says that factors begin at byte " + std::to_string(id) + " (bits 4..5, 29..30); with " +
                                std::to_string(in.factors) + " per row it is " + (in.factors == 2 ? "0 or 2" : "0"));
  }
  check_shape(bits, in, v);
  return in;
}

}  // namespace

InstructionDescriptor decode_instruction(uint32_t bits, const Variant& v) {
  if (is_scaled(v.kind)) return decode_scaled(bits, v);
  InstructionDescriptor in = decode_common(bits, v);
  in.selector = static_cast<int>(bits & 3);
  if (in.selector != 0) {
    if (!in.sparse) bad_instruction(bits, "has a sparsity selector (bits 0..1) and a dense A");
    if (v.kind != Kind::F16 && v.kind != Kind::TF32)
      bad_instruction(bits, "has a sparsity selector (bits 0..1), which only kind::f16 and kind::tf32 have");
    if (in.selector > 1)
      bad_instruction(bits, "has the sparsity selector " + std::to_string(in.selector) +
                                " (bits 0..1): only 0 and 1 are supported, the two columns of a pair");
  }
  if (bits >> 3 & 1)
    bad_instruction(bits, v.kind == Kind::I8 ? "asks for saturation (bit 3), which is not supported"
                                             : "asks for saturation (bit 3), which only kind::i8 has");
  if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29 & 1) bad_instruction(bits, "has reserved bits set (6, 23 or 29)");
  if (bits >> 30 & 3)
    bad_instruction(bits, v.stationary ? "asks for a shift of B (bits 30..31), which is not supported"
                                       : "asks for a shift of B (bits 30..31), which only tcgen05.mma.ws has");
  const uint32_t d = bits >> 4 & 3;
  if (v.kind == Kind::I8 ? d != 2 : d > 1)
    bad_instruction(bits, "has the accumulator code " + std::to_string(d) +
                              ", which this kind does not have (F16 = 0, F32 = 1, S32 = 2)");
  if (d == 0 && v.kind == Kind::F16 && (in.a != Format::F16 || in.b != Format::F16))
    bad_instruction(bits, "asks for F16 accumulators of BF16 operands");
  if (d == 0 && v.kind == Kind::TF32)
    bad_instruction(bits, "asks for F16 accumulators, which kind::tf32 does not have");
  in.result = d == 0 ? tensor::ResultFormat::F16 : d == 1 ? tensor::ResultFormat::F32 : tensor::ResultFormat::S32;
  check_shape(bits, in, v);
  return in;
}

}  // namespace sim::tcgen05
