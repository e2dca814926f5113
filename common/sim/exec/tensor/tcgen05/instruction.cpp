#include "exec/tensor/tcgen05/instruction.h"

#include <span>

#include "exec/core/op.h"
#include "report/faults.h"

namespace sim::tcgen05 {

using tensor::Format;

void bad_instruction(const FaultText& what, uint32_t bits, std::vector<Detail> more) {
  more.insert(more.begin(), bits);
  throw Fault{what, std::move(more)};
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
  const FaultText& otherwise;
};
KindFacts facts_of(Kind kind) {
  switch (kind) {
    case Kind::F16: return {kF16, faults::instruction_type_f16};
    case Kind::TF32: return {kTF32, faults::instruction_type_tf32};
    case Kind::F8F6F4: return {kF8F6F4, faults::instruction_type_f8f6f4};
    case Kind::MXF8F6F4: return {kF8F6F4, faults::instruction_type_f8f6f4};
    case Kind::I8: return {kI8, faults::instruction_type_i8};
    default: return {kF4, faults::instruction_type_mxf4};
  }
}

Format format_of(uint32_t bits, const KindFacts& kind, uint32_t code, const char* operand) {
  for (const Code& each : kind.codes) {
    if (each.code == code) return each.format;
  }
  bad_instruction(kind.otherwise, bits, {operand, code});
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
  if (in.sparse != v.sparse) bad_instruction(in.sparse ? faults::instruction_sparse : faults::instruction_dense, bits);
  in.k = tensor::instruction_k(in.a) * (in.sparse ? 2 : 1);
  const auto check_transpose = [&](bool mn_major, Format format, const char* operand) {
    if (!mn_major || tensor::stored_bits(format) >= 8) return;
    bad_instruction(faults::instruction_transposes_small, bits, {operand});
  };
  check_transpose(in.a_mn_major, in.a, "A"), check_transpose(in.b_mn_major, in.b, "B");
  return in;
}

void check_shape(uint32_t bits, const InstructionDescriptor& in, const Variant& v) {
  const auto refuse = [&](const FaultText& what) { bad_instruction(what, bits, {in.m, in.n}); };
  if (v.stationary) {
    if ((in.m == 32 || in.m == 64 || in.m == 128) && (in.n == 64 || in.n == 128 || in.n == 256)) return;
    refuse(faults::shape_of_ws);
  }
  const int step = v.group == 1 ? 8 : 16;
  const bool n_ok = in.n >= step && in.n <= 256 && in.n % step == 0;
  if (is_scaled(v.kind)) {
    if (n_ok && in.m == 128 * v.group) return;
    if (n_ok && in.m == 128) refuse(faults::shape_of_scaled_half);
    refuse(v.group == 1 ? faults::shape_of_scaled : faults::shape_of_scaled_pair);
  }
  // N in steps of 8 with M = 128 is allowed by the ISA's table and refused by libraries: accepted here.
  const bool m_ok = v.group == 1 ? in.m == 64 || in.m == 128 : in.m == 128 || in.m == 256;
  if (!m_ok || !n_ok) refuse(v.group == 1 ? faults::shape_of_one : faults::shape_of_pair);
  if (v.sparse && in.m != 128 * v.group) refuse(faults::shape_of_sparse);
}

InstructionDescriptor decode_scaled(uint32_t bits, const Variant& v) {
  InstructionDescriptor in = decode_common(bits, v);
  if (bits & 3 || bits >> 3 & 1 || bits >> 6 & 1 || bits >> 24 & 7)
    bad_instruction(faults::instruction_reserved_scaled, bits);
  if (bits >> 31) bad_instruction(is_fp4(v.kind) ? faults::instruction_k96 : faults::instruction_reserved_31, bits);
  in.result = tensor::ResultFormat::F32;
  in.factors = v.factors;
  in.ue8m0 = bits >> 23 & 1;
  if (!in.ue8m0 && (v.kind != Kind::MXF4NVF4 || v.factors != 4)) bad_instruction(faults::instruction_ue4m3, bits);
  in.b_factor = static_cast<int>(bits >> 4 & 3), in.a_factor = static_cast<int>(bits >> 29 & 3);
  for (const int id : {in.a_factor, in.b_factor}) {
    if (id % in.factors != 0)
      bad_instruction(in.factors == 2 ? faults::instruction_factors_of_two : faults::instruction_factors, bits,
                      {id, in.factors});
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
    if (!in.sparse) bad_instruction(faults::instruction_selector_of_dense, bits);
    if (v.kind != Kind::F16 && v.kind != Kind::TF32) bad_instruction(faults::instruction_selector_of_kind, bits);
    if (in.selector > 1) bad_instruction(faults::instruction_selector, bits, {in.selector});
  }
  if (bits >> 3 & 1)
    bad_instruction(v.kind == Kind::I8 ? faults::instruction_saturates_i8 : faults::instruction_saturates, bits);
  if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29 & 1) bad_instruction(faults::instruction_reserved, bits);
  if (bits >> 30 & 3) bad_instruction(v.stationary ? faults::instruction_shifts_ws : faults::instruction_shifts, bits);
  const uint32_t d = bits >> 4 & 3;
  if (v.kind == Kind::I8 ? d != 2 : d > 1) bad_instruction(faults::instruction_accumulators, bits, {d});
  if (d == 0 && v.kind == Kind::F16 && (in.a != Format::F16 || in.b != Format::F16))
    bad_instruction(faults::instruction_f16_of_bf16, bits);
  if (d == 0 && v.kind == Kind::TF32) bad_instruction(faults::instruction_f16_of_tf32, bits);
  in.result = d == 0 ? tensor::ResultFormat::F16 : d == 1 ? tensor::ResultFormat::F32 : tensor::ResultFormat::S32;
  check_shape(bits, in, v);
  return in;
}

}  // namespace sim::tcgen05
