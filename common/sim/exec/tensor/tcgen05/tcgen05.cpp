// tcgen05: tensor memory and the fifth-generation tensor core.
#include <algorithm>
#include <array>
#include <cmath>

#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "exec/core/pending.h"
#include "exec/sync/signal.h"
#include "exec/tensor/descriptor.h"
#include "exec/tensor/kernels.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

enum Flags : uint32_t {
  kPairFlag = 1,
  kAInTmem = 2,
  kWide = 4,
  kMulticast = 8,
  kPack = 16,
  kStore = 32,
  kNegated = 64,
  kConstantTrue = 128,
  kConstantFalse = 256,
  kWeightStationary = 512
};

int group_of(const Op& op) { return op.flags & kPairFlag ? 2 : 1; }

void require_tcgen05(Warp& w) {
  if (!cluster_of(w).launch->gpu->has_tcgen05) {
    throw Fault{Status::IllegalInstruction, "this GPU (" + cluster_of(w).launch->gpu->name +
                                                ") has no tcgen05: it exists from compute capability 10.0 on"};
  }
}

/// The other CTA of the pair, alive.
Cta& peer_of(Cta& cta, const char* what) {
  Cluster& cluster = *cta.cluster;
  const uint32_t rank = cta.rank ^ 1;
  if (rank >= cluster.ctas.size())
    throw Fault{Status::IllegalInstruction,
                std::string(what) + " with cta_group::2 needs a cluster with an even number of CTAs"};
  Cta& peer = cluster.ctas[rank];
  if (peer.exited)
    throw Fault{Status::LaunchFailure, std::string(what) + ": the peer, CTA " + std::to_string(rank) +
                                           ", has exited (cluster target block not present)"};
  return peer;
}

// ---- allocation

void write_result(Cluster& cluster, Cta& cta, uint32_t address, uint32_t value) {
  uint8_t* at = shared_location(cluster, cta, address, 4, 4, true, "tcgen05.alloc");
  std::memcpy(at, &value, 4);
}

Flow alloc(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  Cta& cta = *w.cta;
  const uint32_t columns = uniform<uint32_t>(w, op.b, m);
  const int lane = first_lane(m);
  const uint64_t base = op.flags & kWide ? lanes<uint64_t>(w, op.a)[lane] : lanes<uint32_t>(w, op.a)[lane];
  const uint32_t address = to_shared(base + static_cast<uint64_t>(op.imm), "tcgen05.alloc");
  if (columns < 32 || columns > 512 || !std::has_single_bit(columns)) {
    throw Fault{Status::IllegalInstruction,
                "tcgen05.alloc of " + std::to_string(columns) + " columns: a power of two from 32 to 512 is required"};
  }
  if (cta.tmem.permit_relinquished)
    throw Fault{Status::LaunchFailure, "tcgen05.alloc after tcgen05.relinquish_alloc_permit"};
  if (group_of(op) == 1) {
    const int first = cta.tmem.allocate(static_cast<int>(columns));
    if (first < 0) return block(w, Wait::TmemAllocation, columns);
    write_result(cluster, cta, address, static_cast<uint32_t>(first));
    note_effect(w);
    return Flow::Next;
  }
  Cta& peer = peer_of(cta, "tcgen05.alloc");
  if (!peer.tmem_allocation.waiting) {  // the first of the pair waits for the other
    cta.tmem_allocation = {true, w.index, w.current, columns, address};
    return block(w, Wait::TmemAllocation, columns);
  }
  const Cta::TmemRequest other = peer.tmem_allocation;
  peer.tmem_allocation = {};
  if (other.columns != columns) {
    throw Fault{Status::LaunchFailure, "tcgen05.alloc with cta_group::2: one CTA asks for " + std::to_string(columns) +
                                           " columns, its peer for " + std::to_string(other.columns)};
  }
  const int first = cta.tmem.allocate(static_cast<int>(columns)),
            second = peer.tmem.allocate(static_cast<int>(columns));
  if (first < 0 || first != second) {
    throw Fault{Status::LaunchFailure, "tcgen05.alloc with cta_group::2 finds no " + std::to_string(columns) +
                                           " columns free in both CTAs: " + cta.tmem.describe() + " and " +
                                           peer.tmem.describe() + " are taken"};
  }
  write_result(cluster, cta, address, static_cast<uint32_t>(first));
  write_result(cluster, peer, other.address, static_cast<uint32_t>(first));
  note_effect(w);
  resume(peer.warps[other.warp], static_cast<uint8_t>(other.split),
         static_cast<uint64_t>(cluster.costs().remote_arrive));
  return Flow::Next;
}

void release(Cta& cta, uint32_t address, uint32_t columns) {
  if (address >> 16 != 0 || !cta.tmem.release(static_cast<int>(address & 0xFFFF), static_cast<int>(columns))) {
    throw Fault{Status::LaunchFailure, "tcgen05.dealloc of " + std::to_string(columns) + " columns at " + hex(address) +
                                           " in CTA " + std::to_string(cta.rank) + ": allocated are " +
                                           cta.tmem.describe()};
  }
}

Flow dealloc(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cta& cta = *w.cta;
  const uint32_t address = uniform<uint32_t>(w, op.a, m), columns = uniform<uint32_t>(w, op.b, m);
  if (group_of(op) == 1) {
    release(cta, address, columns);
    note_effect(w);
    // An allocation of another warp may have waited for these columns: it looks again.
    for (Warp& other : cta.warps) {
      for_waiting(other, Wait::TmemAllocation, [&](uint8_t split) { retry(other, split, 0); });
    }
    return Flow::Next;
  }
  Cta& peer = peer_of(cta, "tcgen05.dealloc");
  if (!peer.tmem_deallocation.waiting) {
    cta.tmem_deallocation = {true, w.index, w.current, columns, address};
    return block(w, Wait::TmemDeallocation, columns);
  }
  const Cta::TmemRequest other = peer.tmem_deallocation;
  peer.tmem_deallocation = {};
  release(cta, address, columns);
  release(peer, other.address, other.columns);
  note_effect(w);
  resume(peer.warps[other.warp], static_cast<uint8_t>(other.split),
         static_cast<uint64_t>(cta.cluster->costs().remote_arrive));
  return Flow::Next;
}

Flow relinquish(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  w.cta->tmem.permit_relinquished = true;
  return Flow::Next;
}

// ---- mma

struct Instruction {
  int m, n, k;
  Format a, b;
  tensor::Result result;
  bool a_mn_major, b_mn_major, negate_a, negate_b;
};

[[noreturn]] void bad_instruction(uint32_t bits, const std::string& message) {
  throw Fault{Status::IllegalInstruction, "the instruction descriptor " + hex(bits) + " " + message};
}

enum Kind : uint16_t { kF16, kTf32, kF8, kI8 };

Instruction decode_instruction(uint32_t bits, Kind kind, int group, bool stationary) {
  const uint32_t d = bits >> 4 & 3, a = bits >> 7 & 7, b = bits >> 10 & 7;
  Instruction in{};
  in.n = static_cast<int>(bits >> 17 & 0x3F) * 8;
  in.m = static_cast<int>(bits >> 24 & 0x1F) * 16;
  in.negate_a = bits >> 13 & 1, in.negate_b = bits >> 14 & 1;
  in.a_mn_major = bits >> 15 & 1, in.b_mn_major = bits >> 16 & 1;
  if (bits & 7) bad_instruction(bits, "asks for sparsity (bits 0..2), which is not supported");
  if (bits >> 3 & 1)
    bad_instruction(bits, kind == kI8 ? "asks for saturation (bit 3), which is not supported"
                                      : "asks for saturation (bit 3), which only kind::i8 has");
  if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29 & 1) bad_instruction(bits, "has reserved bits set (6, 23 or 29)");
  if (bits >> 30 & 3)
    bad_instruction(bits, stationary ? "asks for a shift of B (bits 30..31), which is not supported"
                                     : "asks for a shift of B (bits 30..31), which only tcgen05.mma.ws has");
  const auto format = [&](uint32_t code, const char* operand) {
    switch (kind) {
      case kF16:
        if (code <= 1) return code == 1 ? Format::BF16 : Format::F16;
        bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) +
                                  ": kind::f16 has F16 = 0 and BF16 = 1");
      case kTf32:
        if (code == 2) return Format::TF32;
        bad_instruction(bits, std::string("gives ") + operand + " the type code " + std::to_string(code) +
                                  ": kind::tf32 has TF32 = 2");
      case kF8: {
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
  if (kind == kI8 ? d != 2 : d > 1)
    bad_instruction(bits, "has the accumulator code " + std::to_string(d) +
                              ", which this kind does not have (F16 = 0, F32 = 1, S32 = 2)");
  if (d == 0 && kind == kF16 && (in.a != Format::F16 || in.b != Format::F16))
    bad_instruction(bits, "asks for F16 accumulators of BF16 operands");
  if (d == 0 && kind == kTf32) bad_instruction(bits, "asks for F16 accumulators, which kind::tf32 does not have");
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

/// Where 32 rows of A meet a range of columns in one CTA's tensor memory.
struct Strip {
  int first_row;  // of this CTA's rows of A
  int first_n, count_n;
  int lane, column;  // of the first cell
  uint32_t mask;     // which of the 32 lanes are written
};

std::vector<Strip> strips_of(const Instruction& in, int group, bool stationary, uint32_t address) {
  const int lane = static_cast<int>(address >> 16), column = static_cast<int>(address & 0xFFFF);
  std::vector<Strip> strips;
  const auto full = [&](int row, int n, int count, int at_lane) {
    strips.push_back({row, n, count, at_lane, column, kAllLanes});
  };
  if (in.m / group == 128) {  // layouts A and D: row = lane
    for (int row = 0; row < 128; row += 32) full(row, 0, in.n, row);
  } else if (stationary) {  // layouts E and G: as many parts of N one above the other as fit the lanes
    const int parts = 128 / in.m;
    for (int part = 0; part < parts; ++part) {
      for (int row = 0; row < in.m; row += 32) full(row, part * in.n / parts, in.n / parts, in.m * part + row);
    }
  } else if (group == 2) {  // layout B: 64 rows, the halves of N one above the other
    for (int half = 0; half < 2; ++half) {
      for (int row = 0; row < 64; row += 32) full(row, half * in.n / 2, in.n / 2, 64 * half + row);
    }
  } else {  // layout F: 16 rows in each quarter of the lanes, at offset 0 or 16
    for (int quarter = 0; quarter < 4; ++quarter)
      strips.push_back({16 * quarter, 0, in.n, 32 * quarter, column, 0xFFFFu << (lane & 16)});
  }
  return strips;
}

class Mma final : public AsyncOperation {
 public:
  Instruction in;
  int group = 1;
  bool stationary = false;  // tcgen05.mma.ws
  uint32_t leader = 0;      // rank of the even CTA (group 2) or of the CTA
  uint32_t d = 0, a_tmem = 0;
  bool a_in_tmem = false, accumulate = false;
  int scale_d = 0;
  tensor::Descriptor a, b;
  std::array<uint32_t, 8> disabled{};  // lanes that are not written, by CTA of the pair

  void complete(Cluster& cluster) override {
    const tensor::Kernels& kernels = tensor::kernels();
    tensor::Arithmetic how;
    how.exact = cluster.exact_arithmetic(static_cast<uint64_t>(in.m) * static_cast<uint64_t>(in.n) *
                                         static_cast<uint64_t>(in.k));
    how.k = in.k;
    how.result = in.result;
    const int rows = in.m / group, columns = in.n / group;

    // B: each CTA of the group holds its share of the columns.
    b_tile_.resize(static_cast<size_t>(in.n));
    uint8_t bytes[32];
    for (int c = 0; c < group; ++c) {
      Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c));
      tensor::check_tile(cta, b, columns, "B");
      for (int n = 0; n < columns; ++n) {
        tensor::ColumnTile& tile = b_tile_[static_cast<size_t>(c * columns + n)];
        tensor::read_row(cta, b, n, bytes);
        tensor::widen(in.b, bytes, in.k, tile.value);
        finish(tile, how.exact);
      }
    }
    for (int c = 0; c < group; ++c) {
      Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c));
      const std::vector<Strip> strips = strips_of(in, group, stationary, d);
      int needed = 0;
      for (const Strip& strip : strips) needed = std::max(needed, strip.count_n);
      check_allocated(cta, "D", d, needed);
      if (!a_in_tmem)
        tensor::check_tile(cta, a, rows, "A");
      else
        check_allocated(cta, "A", a_tmem, 8);
      int last_row = -1;
      tensor::LaneTile a_tile;
      for (const Strip& strip : strips) {
        if (strip.first_row != last_row) fill_a(cta, strip, rows, how.exact, kernels, &a_tile);
        last_row = strip.first_row;
        multiply(cta, c, strip, how, kernels, a_tile);
      }
    }
    ++cluster.changes;
    if (cluster.counters != nullptr) {
      cluster.counters->tensor_flops +=
          2ull * static_cast<uint64_t>(in.m) * static_cast<uint64_t>(in.n) * static_cast<uint64_t>(in.k);
      ++cluster.counters->tensor_instructions;
    }
  }
  std::string describe() const override {
    return "MMA " + std::to_string(in.m) + "x" + std::to_string(in.n) + "x" + std::to_string(in.k);
  }

 private:
  static Cta& alive(Cluster& cluster, uint32_t rank) {
    Cta& cta = cluster.ctas[rank];
    if (cta.exited)
      throw Fault{Status::LaunchFailure, "an MMA still needs shared and tensor memory of CTA " + std::to_string(rank) +
                                             ", which has exited (cluster target block not present)"};
    return cta;
  }

  static void check_allocated(const Cta& cta, const char* operand, uint32_t address, int columns) {
    const int first = static_cast<int>(address & 0xFFFF);
    if (cta.tmem.allocated(first, columns)) return;
    throw Fault{Status::LaunchFailure, std::string(operand) + " of the MMA needs tensor memory columns " +
                                           std::to_string(first) + ".." + std::to_string(first + columns - 1) +
                                           " of CTA " + std::to_string(cta.rank) +
                                           ", where allocated are: " + cta.tmem.describe()};
  }

  void finish(tensor::ColumnTile& tile, bool exact) const {
    const int minimum = tensor::min_exponent(in.b);
    for (int k = 0; k < in.k; ++k) {
      if (in.negate_b) tile.value[k] = -tile.value[k];
      if (exact) tile.exponent[k] = tensor::model_exponent(tile.value[k], minimum);
    }
  }

  void fill_a(Cta& cta, const Strip& strip, int rows, bool exact, const tensor::Kernels& kernels,
              tensor::LaneTile* tile) {
    alignas(64) float widened[tensor::kLanes][tensor::kMaxK];
    const bool sixteen = strip.mask != kAllLanes;  // layout F: lanes beyond the 16 rows get zeros
    const int shift = strip.mask == 0xFFFF'0000u ? 16 : 0;
    for (int lane = 0; lane < tensor::kLanes; ++lane) {
      const int row = strip.first_row + lane - (sixteen ? shift : 0);
      const bool used = (strip.mask >> lane & 1) && row < rows;
      uint8_t bytes[32] = {};
      if (used) {
        if (a_in_tmem)
          read_tmem_row(cta, strip.lane + lane, bytes);
        else
          tensor::read_row(cta, a, row, bytes);
      }
      tensor::widen(in.a, bytes, in.k, widened[lane]);
      if (in.negate_a)
        for (int k = 0; k < in.k; ++k) widened[lane][k] = -widened[lane][k];
    }
    kernels.transpose(widened, in.k, exact, tensor::min_exponent(in.a), tile);
  }

  void read_tmem_row(Cta& cta, int lane, uint8_t* bytes) {
    for (int column = 0; column < 8; ++column)
      std::memcpy(bytes + 4 * column, &cta.tmem.column(static_cast<int>(a_tmem & 0xFFFF) + column)[lane], 4);
  }

  void multiply(Cta& cta, int c, const Strip& strip, const tensor::Arithmetic& how, const tensor::Kernels& kernels,
                const tensor::LaneTile& a_tile) {
    uint32_t* cells[256];
    for (int n = 0; n < strip.count_n; ++n) cells[n] = cta.tmem.column(strip.column + n) + strip.lane;
    const uint32_t off = disabled[static_cast<size_t>(4 * c + strip.lane / 32)];
    const uint32_t mask = strip.mask & ~off;
    const tensor::ColumnTile* const columns = &b_tile_[static_cast<size_t>(strip.first_n)];
    if (mask == kAllLanes && scale_d == 0) {
      kernels.columns(how, a_tile, columns, cells, strip.count_n, accumulate);
      return;
    }
    for (int n = 0; n < strip.count_n; ++n) {  // some lanes keep what they hold
      alignas(64) uint32_t copy[32];
      std::memcpy(copy, cells[n], sizeof copy);
      if (scale_d != 0)
        for (uint32_t& cell : copy) cell = std::bit_cast<uint32_t>(std::ldexp(std::bit_cast<float>(cell), -scale_d));
      uint32_t* only = copy;
      kernels.columns(how, a_tile, &columns[n], &only, 1, accumulate);
      for (Mask rest = mask; rest; rest &= rest - 1) cells[n][first_lane(rest)] = copy[first_lane(rest)];
    }
  }

  std::vector<tensor::ColumnTile> b_tile_;
};

/// Which swizzles a transposed operand can have.
void check_transposed(const tensor::Descriptor& d, Format format, const char* operand) {
  if (!d.mn_major || (d.layout == tensor::Layout::Swizzle128Atom32) == (format == Format::TF32)) return;
  throw Fault{Status::IllegalInstruction,
              std::string("operand ") + operand + " of the MMA is transposed: " +
                  (format == Format::TF32 ? "TF32 then needs the 128-byte swizzle with 32-byte atoms (code 1)"
                                          : "the 128-byte swizzle with 32-byte atoms (code 1) is for TF32 only")};
}

// a: D's address, b: A's descriptor or TMEM address, c: B's descriptor, e: instruction descriptor, d: accumulate;
// imm: scale of D; shape[0] kind; extra->list: disabled lanes
Flow mma(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  Cluster& cluster = cluster_of(w);
  const int group = group_of(op);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto mma = std::make_unique<Mma>();
    mma->origin = origin_of(w, lane);
    mma->group = group;
    mma->stationary = op.flags & kWeightStationary;
    mma->in =
        decode_instruction(lanes<uint32_t>(w, op.e)[lane], static_cast<Kind>(op.shape[0]), group, mma->stationary);
    if (group == 2) peer_of(*w.cta, "tcgen05.mma");
    mma->leader = group == 2 ? w.cta->rank & ~1u : w.cta->rank;
    mma->d = lanes<uint32_t>(w, op.a)[lane] + static_cast<uint32_t>(op.shape[1]);
    mma->a_in_tmem = op.flags & kAInTmem;
    if (mma->a_in_tmem)
      mma->a_tmem = lanes<uint32_t>(w, op.b)[lane];
    else
      mma->a = tensor::decode_tcgen05(lanes<uint64_t>(w, op.b)[lane], "A");
    mma->b = tensor::decode_tcgen05(lanes<uint64_t>(w, op.c)[lane], "B");
    mma->a.mn_major = mma->in.a_mn_major, mma->b.mn_major = mma->in.b_mn_major;
    mma->a.element = tensor::element_bytes(mma->in.a), mma->b.element = tensor::element_bytes(mma->in.b);
    mma->accumulate = op.flags & kConstantTrue ? true
                      : op.flags & kConstantFalse
                          ? false
                          : ((predicate(w, op.d) ^ (op.flags & kNegated ? kAllLanes : 0)) >> lane & 1) != 0;
    mma->scale_d = static_cast<int>(op.imm);
    if (!mma->a_in_tmem)
      check_transposed(mma->a, mma->in.a, "A");
    else if (mma->in.a_mn_major)
      bad_instruction(lanes<uint32_t>(w, op.e)[lane], "asks to transpose A, which cannot be done in tensor memory");
    check_transposed(mma->b, mma->in.b, "B");
    const uint32_t d_lane = mma->d >> 16;
    const bool layout_f = mma->in.m / group == 64 && group == 1 && !mma->stationary;
    if ((layout_f ? d_lane & ~16u : d_lane) != 0) {
      throw Fault{Status::IllegalInstruction,
                  "D of the MMA starts at TMEM lane " + std::to_string(d_lane) + "; " + (layout_f ? "0 or 16" : "0") +
                      " is required",
                  lane};
    }
    if (op.extra != nullptr) {
      for (size_t i = 0; i < op.extra->list.size(); ++i) mma->disabled[i] = lanes<uint32_t>(w, op.extra->list[i])[lane];
    }
    const auto flops = 2ull * static_cast<uint64_t>(mma->in.m == 64 ? 128 : mma->in.m) *
                       static_cast<uint64_t>(mma->in.n) * static_cast<uint64_t>(mma->in.k);
    const uint64_t busy = flops / static_cast<uint64_t>(cluster.costs().mma_flops_per_cycle * group);
    Cta& unit = cluster.ctas[mma->leader];
    OrderQueue& order = w.cta->tensor_order[w.index * 32 + static_cast<uint32_t>(lane)];
    cluster.scheduler->submit(std::move(mma), {.unit = &unit.tensor_pipe,
                                               .busy = busy,
                                               .latency = static_cast<uint64_t>(cluster.costs().mma_latency),
                                               .order = &order});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

/// commit: when the thread's earlier operations are complete, one arrival at every barrier named.
class Commit final : public AsyncOperation {
 public:
  uint32_t offset = 0;
  std::vector<uint32_t> ranks;
  void complete(Cluster& cluster) override {
    for (const uint32_t rank : ranks) {
      auto signal = std::make_unique<RemoteSignal>();
      signal->rank = rank, signal->offset = offset, signal->count = 1, signal->arrives = true,
      signal->asynchronous = true;
      signal->origin = origin;
      const bool is_remote = rank != origin.cta_rank;
      cluster.scheduler->submit(std::move(signal),
                                {.latency = is_remote ? static_cast<uint64_t>(cluster.costs().remote_arrive) : 0});
    }
  }
  std::string describe() const override { return "tcgen05.commit"; }
};

Flow commit(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t base = op.flags & kWide ? lanes<uint64_t>(w, op.a)[lane] : lanes<uint32_t>(w, op.a)[lane];
    const uint32_t address = to_shared(base + static_cast<uint64_t>(op.imm), "tcgen05.commit");
    auto commit = std::make_unique<Commit>();
    commit->origin = origin_of(w, lane);
    commit->offset = address & kSharedOffsetMask;
    if (op.flags & kMulticast) {
      const uint32_t mask = lanes<uint32_t>(w, op.b)[lane] & 0xFFFF;
      for (uint32_t rank = 0; rank < 16; ++rank) {
        if (mask >> rank & 1) commit->ranks.push_back(rank);
      }
    } else {
      commit->ranks.push_back(address >> kSharedRankShift);
    }
    for (const uint32_t rank : commit->ranks) {
      if (rank >= cluster.ctas.size())
        throw Fault{Status::IllegalAddress,
                    "tcgen05.commit to CTA rank " + std::to_string(rank) + " of a cluster of " +
                        std::to_string(cluster.ctas.size()),
                    lane};
    }
    OrderQueue& order = w.cta->tensor_order[w.index * 32 + static_cast<uint32_t>(lane)];
    cluster.scheduler->submit(std::move(commit), {.latency = 0, .order = &order});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

// ---- ld, st. shape[0]: 0 32x32b, 1 16x64b, 2 16x128b, 3 16x256b, 4 16x32bx2; shape[1]: registers; imm: the x2 offset

struct Cell {
  int lane, column, half;
};  // half: -1 whole, 0 / 1: which 16 bits of the register hold the cell (packed)

/// The cell behind (thread lane t, register i), relative to the access's lane and column.
Cell cell_of(int shape, int t, int i, int half_offset) {
  switch (shape) {
    case 0: return {t, i, -1};
    case 1: return {t / 4 + 8 * (t % 2), 2 * i + t / 2 % 2, -1};
    case 2: return {t / 4 + 8 * (i % 2), 4 * (i / 2) + t % 4, -1};
    case 3: return {t / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2, -1};
    default: return {t % 16, t < 16 ? i : half_offset + i, -1};
  }
}

/// Checks one access and returns its first lane.
int access_lane(const Cta& cta, uint32_t warp, uint32_t address, int shape, int columns, const char* what) {
  const int quarter = static_cast<int>(warp % 4);
  const uint32_t named = address >> 16;
  if (named / 32 % 4 != 0 && static_cast<int>(named / 32 % 4) != quarter) {
    throw Fault{Status::LaunchFailure, std::string(what) + ": warp " + std::to_string(warp) + " can reach TMEM lanes " +
                                           std::to_string(32 * quarter) + ".." + std::to_string(32 * quarter + 31) +
                                           " (its index modulo 4 decides), but the address names lane " +
                                           std::to_string(named)};
  }
  if (named % 32 != 0 && (shape == 0 || named % 32 != 16)) {
    throw Fault{Status::IllegalInstruction, std::string(what) + " at TMEM lane " + std::to_string(named) +
                                                ": this shape starts at the first lane of a warp's quarter" +
                                                (shape == 0 ? "" : " or 16 lanes on")};
  }
  const int first = static_cast<int>(address & 0xFFFF);
  if (!cta.tmem.allocated(first, columns)) {
    throw Fault{Status::LaunchFailure, std::string(what) + " of tensor memory columns " + std::to_string(first) + ".." +
                                           std::to_string(first + columns - 1) + ": allocated are " +
                                           cta.tmem.describe()};
  }
  return 32 * quarter + static_cast<int>(named % 32);
}

int columns_of(const Op& op) {
  const int registers = op.shape[1] * (op.flags & kPack ? 2 : 1);
  switch (op.shape[0]) {
    case 0: return registers;
    case 1: return 2 * registers;
    case 2: return 2 * registers;
    case 3: return 2 * registers;
    default: return std::max(registers, static_cast<int>(op.imm) + registers);
  }
}

void wake_tmem(Warp& warp, Wait kind) {
  for_waiting(warp, kind, [&](uint8_t split) { resume(warp, split, 0); });
}

class TmemLoad final : public AsyncOperation {
 public:
  Warp* warp = nullptr;
  const Op* op = nullptr;
  uint32_t address = 0, number = 0;
  Mask mask = 0;
  void complete(Cluster& cluster) override {
    Cta& cta = *warp->cta;
    const int lane0 = access_lane(cta, warp->index, address, op->shape[0], columns_of(*op), "tcgen05.ld");
    const int column0 = static_cast<int>(address & 0xFFFF);
    const auto& slots = op->extra->list;
    for (size_t i = 0; i < slots.size(); ++i) {
      auto* d = lanes<uint32_t>(*warp, slots[i]);
      if (op->shape[0] == 0 && !(op->flags & kPack) && mask == kAllLanes) {
        std::memcpy(d, cta.tmem.column(column0 + static_cast<int>(i)) + lane0, 128);
        continue;
      }
      for (Mask rest = mask; rest; rest &= rest - 1) {
        const int t = first_lane(rest);
        if (op->flags & kPack) {  // two 16-bit cells per register
          uint32_t value = 0;
          for (int half = 0; half < 2; ++half) {
            const Cell cell = cell_of(op->shape[0], t, 2 * static_cast<int>(i) + half, static_cast<int>(op->imm));
            value |= (cta.tmem.column(column0 + cell.column)[lane0 + cell.lane] & 0xFFFF) << (16 * half);
          }
          d[t] = value;
        } else {
          const Cell cell = cell_of(op->shape[0], t, static_cast<int>(i), static_cast<int>(op->imm));
          d[t] = cta.tmem.column(column0 + cell.column)[lane0 + cell.lane];
        }
      }
    }
    complete_pending(*warp, number);
    ++cluster.changes;
    if (--warp->tmem_loads == 0) wake_tmem(*warp, Wait::TmemLoad);
  }
  std::string describe() const override { return "tcgen05.ld"; }
};

class TmemStore final : public AsyncOperation {
 public:
  Warp* warp = nullptr;
  const Op* op = nullptr;
  uint32_t address = 0;
  Mask mask = 0;
  std::vector<std::array<uint32_t, 32>> values;
  void complete(Cluster& cluster) override {
    Cta& cta = *warp->cta;
    const int lane0 = access_lane(cta, warp->index, address, op->shape[0], columns_of(*op), "tcgen05.st");
    const int column0 = static_cast<int>(address & 0xFFFF);
    for (size_t i = 0; i < values.size(); ++i) {
      for (Mask rest = mask; rest; rest &= rest - 1) {
        const int t = first_lane(rest);
        for (int half = 0; half < (op->flags & kPack ? 2 : 1); ++half) {
          const int index = op->flags & kPack ? 2 * static_cast<int>(i) + half : static_cast<int>(i);
          const Cell cell = cell_of(op->shape[0], t, index, static_cast<int>(op->imm));
          const uint32_t value = op->flags & kPack ? values[i][static_cast<size_t>(t)] >> (16 * half) & 0xFFFF
                                                   : values[i][static_cast<size_t>(t)];
          cta.tmem.column(column0 + cell.column)[lane0 + cell.lane] = value;
        }
      }
    }
    ++cluster.changes;
    if (--warp->tmem_stores == 0) wake_tmem(*warp, Wait::TmemStore);
  }
  std::string describe() const override { return "tcgen05.st"; }
};

Flow transfer(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  const uint32_t address = uniform<uint32_t>(w, op.a, m) + static_cast<uint32_t>(op.e);
  for (Mask rest = m; rest; rest &= rest - 1) {
    if (lanes<uint32_t>(w, op.a)[first_lane(rest)] + static_cast<uint32_t>(op.e) != address) {
      throw Fault{Status::LaunchFailure, "tcgen05.ld and st need the same TMEM address in all lanes of the warp",
                  first_lane(rest)};
    }
  }
  access_lane(*w.cta, w.index, address, op.shape[0], columns_of(op), op.flags & kStore ? "tcgen05.st" : "tcgen05.ld");
  const uint64_t bytes = 128ull * op.shape[1];
  const uint64_t busy = bytes / static_cast<uint64_t>(cluster.costs().tmem_bytes_per_cycle);
  const When when{
      .busy = busy, .latency = static_cast<uint64_t>(cluster.costs().tmem_load) + busy, .order = &w.tmem_order};
  if (op.flags & kStore) {
    auto store = std::make_unique<TmemStore>();
    store->warp = &w, store->op = &op, store->address = address, store->mask = m,
    store->origin = origin_of(w, first_lane(m));
    for (const int32_t slot : op.extra->list) {
      auto& copy = store->values.emplace_back();
      std::memcpy(copy.data(), lanes<uint32_t>(w, slot), sizeof copy);
    }
    ++w.tmem_stores;
    cluster.scheduler->submit(std::move(store), when);
  } else {
    auto load = std::make_unique<TmemLoad>();
    load->warp = &w, load->op = &op, load->address = address, load->mask = m,
    load->origin = origin_of(w, first_lane(m));
    load->number = begin_pending(w, op.extra->writes, true);
    ++w.tmem_loads;
    if (cluster.counters != nullptr) ++cluster.counters->tmem_reads;
    cluster.scheduler->submit(std::move(load), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

Flow wait_transfer(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  if ((op.flags & kStore ? w.tmem_stores : w.tmem_loads) == 0) return Flow::Next;
  return block(w, op.flags & kStore ? Wait::TmemStore : Wait::TmemLoad);
}

// ---- cp: shared memory to tensor memory. shape[0] rows, shape[1] bytes per row, shape[2] 0 plain, 1 warpx4, 2
// warpx2::02_13, 3 warpx2::01_23

class TmemCopy final : public AsyncOperation {
 public:
  const Op* op = nullptr;
  uint32_t rank = 0, address = 0;
  int group = 1;
  tensor::Descriptor source;
  void complete(Cluster& cluster) override {
    for (int c = 0; c < group; ++c) {
      Cta& cta = cluster.ctas[rank + static_cast<uint32_t>(c)];
      if (cta.exited)
        throw Fault{Status::LaunchFailure, "tcgen05.cp needs CTA " + std::to_string(cta.rank) + ", which has exited"};
      const int rows = op->shape[0], words = op->shape[1] / 4, column0 = static_cast<int>(address & 0xFFFF);
      if (!cta.tmem.allocated(column0, words))
        throw Fault{Status::LaunchFailure, "tcgen05.cp to columns that are not allocated: " + cta.tmem.describe()};
      tensor::check_tile(cta, source, rows, "tcgen05.cp");
      for (int row = 0; row < rows; ++row) {
        uint8_t bytes[32];
        tensor::read_row(cta, source, row, bytes);
        for (const int lane : lanes_of(row)) {
          for (int word = 0; word < words; ++word)
            std::memcpy(&cta.tmem.column(column0 + word)[lane], bytes + 4 * word, 4);
        }
      }
    }
    ++cluster.changes;
  }
  std::string describe() const override { return "tcgen05.cp"; }

 private:
  std::vector<int> lanes_of(int row) const {
    switch (op->shape[2]) {
      case 1: return {row, 32 + row, 64 + row, 96 + row};
      case 2: return {row, 64 + row};                                                // warps 0 and 2, 1 and 3
      case 3: return {row % 32 + 64 * (row / 32), row % 32 + 64 * (row / 32) + 32};  // warps 0 and 1, 2 and 3
      default: return {row};
    }
  }
};

Flow copy_to_tmem(Warp& w, const Op& op, Mask m) {
  require_tcgen05(w);
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto copy = std::make_unique<TmemCopy>();
    copy->op = &op;
    copy->group = group_of(op);
    if (copy->group == 2) peer_of(*w.cta, "tcgen05.cp");
    copy->rank = copy->group == 2 ? w.cta->rank & ~1u : w.cta->rank;
    copy->address = lanes<uint32_t>(w, op.a)[lane] + static_cast<uint32_t>(op.imm);
    copy->source = tensor::decode_tcgen05(lanes<uint64_t>(w, op.b)[lane], "tcgen05.cp");
    copy->origin = origin_of(w, lane);
    OrderQueue& order = w.cta->tensor_order[w.index * 32 + static_cast<uint32_t>(lane)];
    Pipe& unit = cluster.ctas[copy->rank].tensor_pipe;
    cluster.scheduler->submit(
        std::move(copy),
        {.unit = &unit, .busy = 64, .latency = static_cast<uint64_t>(cluster.costs().mma_latency), .order = &order});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

Flow nothing(Warp&, const Op&, Mask) { return Flow::Next; }

// ---- decoding

void decode_mma_instruction(Decoder& d) {
  Op& op = *d.op;
  // Keeping A or B in a collector buffer saves time, nothing else.
  d.ignore(
      {"collector::a::discard", "collector::a::fill", "collector::a::use", "collector::a::lastuse", "collector::b*"});
  if (d.has("ws")) {
    if (d.has("cta_group::2")) d.unsupported(".ws works on one CTA");
    if (d.is_vector(4) || d.count() > 5) d.unsupported("masks of tcgen05.mma.ws");
    op.flags |= kWeightStationary;
  }
  if (d.has("kind::f16"))
    op.shape[0] = kF16;
  else if (d.has("kind::tf32"))
    op.shape[0] = kTf32;
  else if (d.has("kind::f8f6f4"))
    op.shape[0] = kF8;
  else if (d.has("kind::i8"))
    op.shape[0] = kI8;
  else
    d.unsupported("block-scaled kinds");
  if (d.has("cta_group::2")) op.flags |= kPairFlag;
  const Operand& target = d.operand(0);
  op.a = d.source(target.elements.at(0), Type::B32);
  op.shape[1] = static_cast<uint16_t>(target.value);
  const Operand& a = d.operand(1);
  if (a.kind == Operand::Kind::Address) {
    op.flags |= kAInTmem;
    op.b = d.source(a.elements.at(0), Type::B32);
  } else {
    op.b = d.source(a, Type::B64);
  }
  op.c = d.source(2, Type::B64);
  if (d.register_bits(d.operand(3)) > 32) {
    d.unsupported(
        "the instruction descriptor is a 32-bit register, and this one has 64 (CUTLASS keeps it in the upper half)");
  }
  op.e = d.source(3, Type::B32);
  size_t at = 4;
  if (at < d.count() && d.is_vector(at)) {
    for (const Operand& each : d.operand(at).elements) d.extra().list.push_back(d.source(each, Type::B32));
    if (d.extra().list.size() > 8) d.unsupported("more than eight lane masks");
    ++at;
  }
  if (at >= d.count()) {
    d.unsupported("the predicate enable-input-d is missing: it says whether D is accumulated or overwritten");
  }
  const Operand& accumulate = d.operand(at++);
  if (accumulate.kind == Operand::Kind::Immediate) {
    op.flags |= accumulate.value ? kConstantTrue : kConstantFalse;
  } else {
    bool negated = false;
    op.d = d.predicate_source(accumulate, &negated);
    if (negated) op.flags |= kNegated;
  }
  if (at < d.count()) op.imm = d.immediate(at);
  op.run = mma;
}

void decode_transfer(Decoder& d, bool is_store) {
  Op& op = *d.op;
  d.ignore({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128", "b32"});
  const char* const shapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
  op.shape[0] = 99;
  for (uint16_t i = 0; i < 5; ++i) {
    if (d.has(shapes[i])) op.shape[0] = i;
  }
  if (op.shape[0] == 99) d.unsupported("this shape");
  if (d.has("pack::16b") || d.has("unpack::16b")) op.flags |= kPack;
  if (is_store) op.flags |= kStore;
  op.touches_pending = !is_store;
  const Operand& address = d.operand(is_store ? 0 : 1);
  op.a = d.source(address.elements.at(0), Type::B32);
  op.e = static_cast<int32_t>(address.value);
  size_t list_at = is_store ? 1 : 0;
  if (op.shape[0] == 4) {
    op.imm = d.immediate(is_store ? 1 : 2);
    if (is_store) list_at = 2;
  }
  const Operand& list = d.operand(list_at);
  for (const Operand& each : list.kind == Operand::Kind::Vector ? list.elements : std::vector<Operand>{list}) {
    d.extra().list.push_back(is_store ? d.source(each, Type::B32) : d.destination(each, 4));
  }
  op.shape[1] = static_cast<uint16_t>(d.extra().list.size());
  op.run = transfer;
}

void decode_copy(Decoder& d) {
  Op& op = *d.op;
  if (d.has("cta_group::2")) op.flags |= kPairFlag;
  if (d.has("128x256b"))
    op.shape[0] = 128, op.shape[1] = 32;
  else if (d.has("128x128b"))
    op.shape[0] = 128, op.shape[1] = 16;
  else if (d.has("64x128b"))
    op.shape[0] = 64, op.shape[1] = 16;
  else if (d.has("32x128b"))
    op.shape[0] = 32, op.shape[1] = 16;
  else
    d.unsupported("this shape");
  op.shape[2] = d.has("warpx4") ? 1 : d.has("warpx2::02_13") ? 2 : d.has("warpx2::01_23") ? 3 : 0;
  const Operand& target = d.operand(0);
  op.a = d.source(target.elements.at(0), Type::B32);
  op.imm = target.value;
  op.b = d.source(1, Type::B64);
  op.run = copy_to_tmem;
}

}  // namespace

void decode_tcgen05(Decoder& d) {
  Op& op = *d.op;
  const std::string& what = d.modifier(0);
  d.ignore(
      {"sync", "aligned", "cta_group::1", "shared::cta", "shared::cluster", "b32", "b64", "mbarrier::arrive::one"});
  if (d.has("cta_group::2")) op.flags |= kPairFlag;
  if (what == "alloc") {
    const Decoder::Address address = d.address(d.operand(0));
    op.a = address.slot;
    op.imm = address.offset;
    if (address.wide) op.flags |= kWide;
    op.b = d.source(1, Type::B32);
    op.run = alloc;
  } else if (what == "dealloc") {
    op.a = d.source(0, Type::B32);
    op.b = d.source(1, Type::B32);
    op.run = dealloc;
  } else if (what == "relinquish_alloc_permit") {
    op.run = relinquish;
  } else if (what == "mma") {
    decode_mma_instruction(d);
  } else if (what == "commit") {
    const Decoder::Address address = d.address(d.operand(0));
    op.a = address.slot;
    op.imm = address.offset;
    if (address.wide) op.flags |= kWide;
    if (d.has("multicast::cluster")) {
      op.flags |= kMulticast;
      op.b = d.source(1, Type::B32);
    }
    op.run = commit;
  } else if (what == "ld" || what == "st") {
    decode_transfer(d, what == "st");
  } else if (what.starts_with("wait::")) {
    if (what == "wait::st") op.flags |= kStore;
    op.touches_pending = true;
    op.run = wait_transfer;
  } else if (what.starts_with("fence::")) {
    // Ordering only: operations take effect one at a time here.
    op.touches_pending = true;
    op.run = nothing;
  } else if (what == "cp") {
    decode_copy(d);
  }
}

}  // namespace sim
