#include "exec/tensor/tcgen05/instruction.h"

#include "exec/core/op.h"

namespace sim::tcgen05 {

using tensor::Format;

void bad_instruction(uint32_t bits, const std::string& message) {
  throw Fault{Status::IllegalInstruction, "the instruction descriptor " + base::hex(bits) + " " + message};
}

Instruction decode_instruction(uint32_t bits, Kind kind, int group, bool stationary) {
  const uint32_t d = bits >> 4 & 3, a = bits >> 7 & 7, b = bits >> 10 & 7;
  Instruction in{};
  in.n = static_cast<int>(bits >> 17 & 0x3F) * 8;
  in.m = static_cast<int>(bits >> 24 & 0x1F) * 16;
  in.negate_a = bits >> 13 & 1, in.negate_b = bits >> 14 & 1;
  in.a_mn_major = bits >> 15 & 1, in.b_mn_major = bits >> 16 & 1;
  if (bits & 7) bad_instruction(bits, "asks for sparsity (bits 0..2), which is not supported");
  if (bits >> 3 & 1)
    bad_instruction(bits, kind == Kind::I8 ? "asks for saturation (bit 3), which is not supported"
                                           : "asks for saturation (bit 3), which only kind::i8 has");
  if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29 & 1) bad_instruction(bits, "has reserved bits set (6, 23 or 29)");
  if (bits >> 30 & 3)
    bad_instruction(bits, stationary ? "asks for a shift of B (bits 30..31), which is not supported"
                                     : "asks for a shift of B (bits 30..31), which only tcgen05.mma.ws has");
  const auto format = [&](uint32_t code, const char* operand) {
    switch (kind) {
      case Kind::F16:
        if (code <= 1) return code == 1 ? Format::BF16 : Format::F16;
        bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) +
                                  ": kind::f16 has F16 = 0 and BF16 = 1");
      case Kind::TF32:
        if (code == 2) return Format::TF32;
        bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) +
                                  ": kind::tf32 has TF32 = 2");
      case Kind::F8F6F4: {
        const Format formats[] = {Format::E4M3, Format::E5M2, Format::E4M3, Format::E2M3, Format::E3M2, Format::E2M1};
        if (code <= 5 && code != 2) return formats[code];
        bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) +
                                  ": kind::f8f6f4 has E4M3 = 0, E5M2 = 1, E2M3 = 3, E3M2 = 4, E2M1 = 5");
      }
      default:
        if (code <= 1) return code == 1 ? Format::S8 : Format::U8;
        bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) +
                                  ": kind::i8 has U8 = 0, S8 = 1");
    }
  };
  in.a = format(a, "A");
  in.b = format(b, "B");
  if (kind == Kind::I8 ? d != 2 : d > 1)
    bad_instruction(bits, "has the accumulator code " + std::to_string(d) +
                              ", which this kind does not have (F16 = 0, F32 = 1, S32 = 2)");
  if (d == 0 && kind == Kind::F16 && (in.a != Format::F16 || in.b != Format::F16))
    bad_instruction(bits, "asks for F16 accumulators of BF16 operands");
  if (d == 0 && kind == Kind::TF32) bad_instruction(bits, "asks for F16 accumulators, which kind::tf32 does not have");
  in.result = d == 0 ? tensor::Result::F16 : d == 1 ? tensor::Result::F32 : tensor::Result::S32;
  in.k = tensor::instruction_k(in.a);
  if (stationary) {
    if ((in.m == 32 || in.m == 64 || in.m == 128) && (in.n == 64 || in.n == 128 || in.n == 256)) return in;
    bad_instruction(bits, "names M = " + std::to_string(in.m) + ", N = " + std::to_string(in.n) +
                              "; tcgen05.mma.ws has M = 32, 64 or 128 and N = 64, 128 or 256");
  }
  const bool m_ok = group == 1 ? in.m == 64 || in.m == 128 : in.m == 128 || in.m == 256;
  const int step = group == 1 && in.m == 64 ? 8 : 16;
  // N in steps of 8 with M = 128 is allowed by the ISA's table and refused by libraries: accepted here.
  const int least = group == 1 ? 8 : step;
  if (!m_ok || in.n < least || in.n > 256 || in.n % (group == 1 ? 8 : 16) != 0) {
    bad_instruction(bits, "names M = " + std::to_string(in.m) + ", N = " + std::to_string(in.n) +
                              "; with cta_group::" + std::to_string(group) +
                              (group == 1 ? " M is 64 or 128 and N a multiple of 8 (M = 128: 16) up to 256"
                                          : " M is 128 or 256 (of the pair) and N a multiple of 16 up to 256"));
  }
  return in;
}

}  // namespace sim::tcgen05
