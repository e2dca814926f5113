// mma.sync: the warp-level tensor-core instruction, for programs that are older than wgmma or mix the two.
#include "exec/core/decoder.h"
#include "exec/tensor/kernels.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

// shape[0] K in elements, shape[1] formats (a | b << 8), shape[2] Result; list: d, list2: a, then b, then c
// All shapes here are m16n8kK. Fragments, in units of 32-bit registers and with t = lane / 4, q = lane % 4:
//   A register i: row t + 8 (i % 2), bytes of K from 16 (i / 2) + 4 q      (K of 32 bytes; half for the short shapes)
//   B register i: column t, bytes of K from 16 i + 4 q
//   C, D: row t + 8 (i / 2), column 2 q + i % 2
Flow mma(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  const int k = op.shape[0];
  const auto a_format = static_cast<Format>(op.shape[1] & 0xFF), b_format = static_cast<Format>(op.shape[1] >> 8);
  const auto& slots = op.extra->list2;
  const size_t k_bytes = static_cast<size_t>(k) * static_cast<size_t>(tensor::element_bytes(a_format));
  const size_t a_registers = k_bytes / 8, b_registers = k_bytes / 16;
  tensor::Arithmetic how;
  how.exact = cluster.exact_arithmetic(16ull * 8 * static_cast<uint64_t>(k));
  how.k = k;
  how.result = static_cast<tensor::Result>(op.shape[2]);
  const bool half = how.result == tensor::Result::F16;

  float a[16][tensor::kMaxK], b[8][tensor::kMaxK];
  int16_t ae[16][tensor::kMaxK], be[8][tensor::kMaxK];
  uint8_t bytes[16][64];
  for (size_t i = 0; i < a_registers; ++i) {
    for (size_t lane = 0; lane < 32; ++lane)
      std::memcpy(&bytes[lane / 4 + 8 * (i % 2)][16 * (i / 2) + 4 * (lane % 4)], &lanes<uint32_t>(w, slots[i])[lane],
                  4);
  }
  for (size_t row = 0; row < 16; ++row) {
    tensor::widen(a_format, bytes[row], k, a[row]);
    for (int j = 0; j < k; ++j) ae[row][j] = tensor::model_exponent(a[row][j], tensor::min_exponent(a_format));
  }
  for (size_t i = 0; i < b_registers; ++i) {
    for (size_t lane = 0; lane < 32; ++lane)
      std::memcpy(&bytes[lane / 4][16 * i + 4 * (lane % 4)], &lanes<uint32_t>(w, slots[a_registers + i])[lane], 4);
  }
  for (size_t column = 0; column < 8; ++column) {
    tensor::widen(b_format, bytes[column], k, b[column]);
    for (int j = 0; j < k; ++j) be[column][j] = tensor::model_exponent(b[column][j], tensor::min_exponent(b_format));
  }
  uint32_t results[4][32];
  for (size_t i = 0; i < 4; ++i) {
    for (size_t lane = 0; lane < 32; ++lane) {
      const size_t row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      const int32_t slot = slots[a_registers + b_registers + (half ? i / 2 : i)];
      uint32_t c = lanes<uint32_t>(w, slot)[lane];
      if (half) c = i % 2 ? c >> 16 : c & 0xFFFF;
      results[i][lane] = tensor::multiply_one(how, a[row], ae[row], b[column], be[column], c, true);
    }
  }
  for (size_t lane = 0; lane < 32; ++lane) {
    for (size_t i = 0; i < op.extra->list.size(); ++i) {
      lanes<uint32_t>(w, op.extra->list[i])[lane] =
          half ? results[2 * i][lane] | results[2 * i + 1][lane] << 16 : results[i][lane];
    }
  }
  if (cluster.counters != nullptr) {
    cluster.counters->tensor_flops += 2ull * 16 * 8 * static_cast<uint64_t>(k);
    ++cluster.counters->tensor_instructions;
  }
  return Flow::Next;
}

}  // namespace

void decode_mma(Decoder& d) {
  Op& op = *d.op;
  d.ignore({"sync", "aligned"});
  if (!d.has("row") || !d.has("col")) d.unsupported("only A by rows and B by columns");
  std::vector<std::string> types;
  int k = 0;
  d.for_modifiers([&](const std::string& modifier) {
    if (std::sscanf(modifier.c_str(), "m16n8k%d", &k) == 1) return true;
    if (ptx::type_of(modifier) == Type::None) return false;
    types.push_back(modifier);
    return true;
  });
  if (types.size() != 4) d.unsupported("four types are required");
  const auto format = [&](const std::string& name) {
    if (name == "bf16") return Format::BF16;
    if (name == "f16") return Format::F16;
    if (name == "tf32") return Format::TF32;
    if (name == "e4m3") return Format::E4M3;
    if (name == "e5m2") return Format::E5M2;
    if (name == "s8") return Format::S8;
    if (name == "u8") return Format::U8;
    d.unsupported("the type ." + name);
  };
  const Format a = format(types[1]), b = format(types[2]);
  const int bytes = k * tensor::element_bytes(a);
  if (bytes != 32 && bytes != 16) d.unsupported("this shape");
  op.shape[0] = static_cast<uint16_t>(k);
  op.shape[1] = static_cast<uint16_t>(static_cast<int>(a) | static_cast<int>(b) << 8);
  op.shape[2] = static_cast<uint16_t>(types[0] == "f32"   ? tensor::Result::F32
                                      : types[0] == "f16" ? tensor::Result::F16
                                                          : tensor::Result::S32);
  for (const Operand& each : d.operand(0).elements) d.extra().list.push_back(d.destination(each, 4));
  for (size_t i = 1; i <= 3; ++i) {
    const Operand& list = d.operand(i);
    for (const Operand& each : list.kind == Operand::Kind::Vector ? list.elements : std::vector<Operand>{list})
      d.extra().list2.push_back(d.source(each, Type::B32));
  }
  const size_t expected =
      static_cast<size_t>(bytes) / 8 + static_cast<size_t>(bytes) / 16 + (types[0] == "f16" ? 2 : 4);
  if (d.extra().list2.size() != expected) d.unsupported("the number of registers does not match the shape");
  op.run = mma;
}

}  // namespace sim
