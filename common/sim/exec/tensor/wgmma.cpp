// wgmma: the fourth-generation tensor core (Hopper). The four warps of a warpgroup execute the same sequence of
// instructions, each at its own time; an instruction starts when all four have issued it and they complete in order.
#include <array>

#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "exec/core/pending.h"
#include "exec/tensor/descriptor.h"
#include "exec/tensor/kernels.h"
#include "timing/counters.h"

namespace sim {

struct Cta::Warpgroup {
  struct Entry {
    const Op* op = nullptr;  // of the wgmma; nullptr: a commit_group
    uint64_t a = 0, b = 0;   // descriptors
    bool accumulate = false;
    uint32_t issued = 0;                                                 // bit per warp
    std::array<uint32_t, 4> pending{};                                   // numbers of the warps' pending registers
    std::array<std::array<std::array<uint32_t, 32>, 4>, 4> a_registers;  // A from registers: [warp][register][lane]
    Origin origin;
  };
  std::deque<std::unique_ptr<Entry>> entries;  // not yet issued by all four warps
  uint64_t first = 0;                          // number of entries[0]
  std::array<uint64_t, 4> next{};              // number of each warp's next entry
  std::array<uint64_t, 4> groups{};            // committed, by warp
  uint64_t groups_done = 0;
  OrderQueue order;
};

namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

enum Flags : uint32_t {
  kARegisters = 1,
  kNegated = 2,
  kConstantTrue = 4,
  kConstantFalse = 8,
  kANegative = 16,
  kBNegative = 32,
  kATransposed = 64,
  kBTransposed = 128,
  kPackedHalf = 256
};
// shape[0] N, shape[1] format of A, shape[2] format of B, shape[3] Result

Cta::Warpgroup& group_of(Warp& w) {
  Cta& cta = *w.cta;
  const size_t index = w.index / 4;
  if (cta.warpgroups.size() <= index) cta.warpgroups.resize(index + 1);
  if (!cta.warpgroups[index]) cta.warpgroups[index] = std::make_shared<Cta::Warpgroup>();
  if ((index + 1) * 4 > cta.warps.size()) {
    throw Fault{Status::IllegalInstruction,
                "wgmma needs a whole warpgroup of four warps, but warp " + std::to_string(w.index) +
                    " belongs to an incomplete one (the CTA has " + std::to_string(cta.warps.size()) + " warps)"};
  }
  return *cta.warpgroups[index];
}

void require_wgmma(Warp& w) {
  if (!cluster_of(w).launch->gpu->has_wgmma) {
    throw Fault{Status::IllegalInstruction, "this GPU (" + cluster_of(w).launch->gpu->name +
                                                ") has no wgmma: it exists on compute capability 9.0 only"};
  }
}

class GroupCommit final : public AsyncOperation {
 public:
  Cta* cta;
  size_t group;
  void complete(Cluster& cluster) override {
    Cta::Warpgroup& warpgroup = *cta->warpgroups[group];
    ++warpgroup.groups_done;
    ++cluster.changes;
    for (size_t i = 0; i < 4; ++i) {
      Warp& warp = cta->warps[4 * group + i];
      for_waiting(warp, Wait::WgmmaGroup, [&](uint8_t split) {
        if (warpgroup.groups[i] - warpgroup.groups_done <= warp.splits[split].arguments[0]) resume(warp, split, 0);
      });
    }
  }
  std::string describe() const override { return "wgmma.commit_group"; }
};

class Wgmma final : public AsyncOperation {
 public:
  Cta* cta;
  size_t group;
  std::unique_ptr<Cta::Warpgroup::Entry> entry;

  void complete(Cluster& cluster) override {
    const Op& op = *entry->op;
    const int n = op.shape[0];
    const auto a_format = static_cast<Format>(op.shape[1]), b_format = static_cast<Format>(op.shape[2]);
    tensor::Arithmetic how;
    how.k = tensor::instruction_k(a_format);
    how.exact = cluster.exact_arithmetic(64ull * static_cast<uint64_t>(n) * static_cast<uint64_t>(how.k));
    how.result = static_cast<tensor::Result>(op.shape[3]);
    if (a_format == Format::E4M3 || a_format == Format::E5M2) how.fraction_bits = 13;
    const tensor::Kernels& kernels = tensor::kernels();

    tensor::Descriptor b = tensor::decode_wgmma(entry->b, "B");
    b.mn_major = op.flags & kBTransposed, b.element = tensor::element_bytes(b_format);
    tensor::check_tile(*cta, b, n, "B");
    static thread_local std::vector<tensor::QuadTile> b_tiles;
    b_tiles.resize(static_cast<size_t>(n) / 4);
    for (int column = 0; column < n; ++column) {
      uint8_t bytes[32];
      float values[tensor::kMaxK];
      tensor::read_row(*cta, b, column, bytes);
      tensor::widen(b_format, bytes, how.k, values);
      tensor::QuadTile& tile = b_tiles[static_cast<size_t>(column / 8 * 2 + column % 2)];
      const int slot = column % 8 / 2;
      for (int k = 0; k < how.k; ++k) {
        if (op.flags & kBNegative) values[k] = -values[k];
        tile.value[k][slot] = values[k];
        if (how.exact) tile.exponent[k][slot] = tensor::model_exponent(values[k], tensor::min_exponent(b_format));
      }
    }

    tensor::Descriptor a;
    if (!(op.flags & kARegisters)) {
      a = tensor::decode_wgmma(entry->a, "A");
      a.mn_major = op.flags & kATransposed, a.element = tensor::element_bytes(a_format);
      tensor::check_tile(*cta, a, 64, "A");
    }
    const size_t registers = op.extra->list.size();
    for (size_t warp = 0; warp < 4; ++warp) {
      tensor::LaneTile a_tiles[2];
      for (int h = 0; h < 2; ++h) {
        alignas(64) float widened[tensor::kLanes][tensor::kMaxK];
        for (int row = 0; row < 8; ++row) {
          uint8_t bytes[32];
          if (op.flags & kARegisters)
            register_row(warp, row, h, bytes);
          else
            tensor::read_row(*cta, a, static_cast<int>(warp) * 16 + 8 * h + row, bytes);
          tensor::widen(a_format, bytes, how.k, widened[4 * row]);
          if (op.flags & kANegative)
            for (int k = 0; k < how.k; ++k) widened[4 * row][k] = -widened[4 * row][k];
          for (int copy = 1; copy < 4; ++copy)
            std::memcpy(widened[4 * row + copy], widened[4 * row], sizeof widened[0]);
        }
        kernels.transpose(widened, how.k, how.exact, tensor::min_exponent(a_format), &a_tiles[h]);
      }
      Warp& target = cta->warps[4 * group + warp];
      uint32_t* accumulators[128];
      if (op.flags & kPackedHalf) {
        static thread_local std::vector<std::array<uint32_t, 32>> halves;
        halves.resize(2 * registers);
        for (size_t i = 0; i < registers; ++i) {
          const auto* packed = lanes<uint32_t>(target, op.extra->list[i]);
          for (size_t l = 0; l < 32; ++l) halves[2 * i][l] = packed[l] & 0xFFFF, halves[2 * i + 1][l] = packed[l] >> 16;
          accumulators[2 * i] = halves[2 * i].data(), accumulators[2 * i + 1] = halves[2 * i + 1].data();
        }
        kernels.fragments(how, a_tiles, b_tiles.data(), accumulators, n / 8, entry->accumulate);
        for (size_t i = 0; i < registers; ++i) {
          auto* packed = lanes<uint32_t>(target, op.extra->list[i]);
          for (size_t l = 0; l < 32; ++l) packed[l] = halves[2 * i][l] | halves[2 * i + 1][l] << 16;
        }
      } else {
        for (size_t i = 0; i < registers; ++i) accumulators[i] = lanes<uint32_t>(target, op.extra->list[i]);
        kernels.fragments(how, a_tiles, b_tiles.data(), accumulators, n / 8, entry->accumulate);
      }
      complete_pending(target, entry->pending[warp]);
    }
    ++cluster.changes;
    if (cluster.counters != nullptr) {
      cluster.counters->tensor_flops += 2ull * 64 * static_cast<uint64_t>(n) * static_cast<uint64_t>(how.k);
      ++cluster.counters->tensor_instructions;
    }
  }
  std::string describe() const override { return "wgmma m64n" + std::to_string(entry->op->shape[0]); }

 private:
  /// Row `row` of half `h` of a warp's A fragment: 32 bytes of K. Register j holds row l/4 + 8 (j%2), bytes from
  /// 16 (j/2) + 4 (l%4).
  void register_row(size_t warp, int row, int h, uint8_t* bytes) const {
    for (int part = 0; part < 2; ++part) {
      for (int quad = 0; quad < 4; ++quad) {
        const uint32_t word =
            entry->a_registers[warp][static_cast<size_t>(2 * part + h)][static_cast<size_t>(4 * row + quad)];
        std::memcpy(bytes + 16 * part + 4 * quad, &word, 4);
      }
    }
  }
};

/// The entry at which this warp stands; it must agree with what the other warps of the group issue there.
Cta::Warpgroup::Entry& reach(Warp& w, Cta::Warpgroup& group, const Op* op, bool* complete) {
  const size_t warp = w.index % 4;
  const uint64_t number = group.next[warp]++;
  const size_t at = number - group.first;
  if (at == group.entries.size()) {
    group.entries.push_back(std::make_unique<Cta::Warpgroup::Entry>());
    group.entries.back()->op = op;
    group.entries.back()->origin = origin_of(w, 0);
  }
  Cta::Warpgroup::Entry& entry = *group.entries[at];
  if (entry.op != op) {
    throw Fault{Status::LaunchFailure,
                "the warps of a warpgroup execute different sequences of wgmma and wgmma.commit_group: all four must "
                "execute the same"};
  }
  entry.issued |= 1u << warp;
  *complete = entry.issued == 0xF;
  return entry;
}

Flow mma(Warp& w, const Op& op, Mask m) {
  require_wgmma(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cta::Warpgroup& group = group_of(w);
  bool complete = false;
  const uint64_t a = op.flags & kARegisters ? 0 : uniform<uint64_t>(w, op.a, m), b = uniform<uint64_t>(w, op.b, m);
  const bool accumulate =
      op.flags & kConstantTrue ? true
      : op.flags & kConstantFalse
          ? false
          : ((predicate(w, op.c) ^ (op.flags & kNegated ? kAllLanes : 0)) >> first_lane(m) & 1) != 0;
  Cta::Warpgroup::Entry& entry = reach(w, group, &op, &complete);
  if (entry.issued != 1u << (w.index % 4) && (entry.a != a || entry.b != b || entry.accumulate != accumulate)) {
    throw Fault{Status::LaunchFailure,
                "the warps of a warpgroup execute a wgmma with different descriptors or scale-d"};
  }
  entry.a = a, entry.b = b, entry.accumulate = accumulate;
  if (!(op.flags & kARegisters)) tensor::decode_wgmma(a, "A");
  tensor::decode_wgmma(b, "B");
  if (op.flags & kARegisters) {
    for (size_t i = 0; i < 4; ++i) {
      const int32_t slot = op.extra->list2[i];
      if (is_pending(w, slot))
        throw Fault{Status::LaunchFailure,
                    "wgmma takes A from a register that an unfinished operation has still to write"};
      std::memcpy(entry.a_registers[w.index % 4][i].data(), lanes<uint32_t>(w, slot), 128);
    }
  }
  entry.pending[w.index % 4] = begin_pending(w, op.extra->writes, false);
  w.executed_at_effect = w.executed;
  if (!complete) return Flow::Next;
  auto operation = std::make_unique<Wgmma>();
  operation->cta = w.cta;
  operation->group = w.index / 4;
  operation->origin = entry.origin;
  operation->entry = std::move(group.entries.front());
  group.entries.pop_front();
  ++group.first;
  Cluster& cluster = cluster_of(w);
  const uint64_t busy = 2ull * 64 * op.shape[0] *
                        static_cast<uint64_t>(tensor::instruction_k(static_cast<Format>(op.shape[1]))) /
                        static_cast<uint64_t>(cluster.costs().mma_flops_per_cycle);
  cluster.scheduler->submit(std::move(operation), {.unit = &w.cta->tensor_pipe,
                                                   .busy = busy,
                                                   .latency = static_cast<uint64_t>(cluster.costs().mma_latency),
                                                   .order = &group.order});
  return Flow::Next;
}

Flow commit(Warp& w, const Op& op, Mask m) {
  require_wgmma(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cta::Warpgroup& group = group_of(w);
  bool complete = false;
  reach(w, group, nullptr, &complete);
  ++group.groups[w.index % 4];
  if (!complete) return Flow::Next;
  group.entries.pop_front();
  ++group.first;
  auto operation = std::make_unique<GroupCommit>();
  operation->cta = w.cta;
  operation->group = w.index / 4;
  operation->origin = origin_of(w, 0);
  cluster_of(w).scheduler->submit(std::move(operation), {.order = &group.order});
  return Flow::Next;
}

Flow wait(Warp& w, const Op& op, Mask m) {
  require_wgmma(w);
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cta::Warpgroup& group = group_of(w);
  const auto allowed = static_cast<uint64_t>(op.imm);
  if (group.groups[w.index % 4] - group.groups_done <= allowed || group.groups[w.index % 4] <= group.groups_done)
    return Flow::Next;
  return block(w, Wait::WgmmaGroup, static_cast<uint32_t>(allowed));
}

Flow fence(Warp& w, const Op& op, Mask m) {
  require_wgmma(w);
  return gather(w, op, kAllLanes, &m) ? Flow::Next : Flow::Block;
}

Format format_of(Decoder& d, const std::string& name) {
  if (name == "bf16") return Format::BF16;
  if (name == "f16") return Format::F16;
  if (name == "tf32") return Format::TF32;
  if (name == "e4m3") return Format::E4M3;
  if (name == "e5m2") return Format::E5M2;
  if (name == "s8") return Format::S8;
  if (name == "u8") return Format::U8;
  d.unsupported("the type ." + name);
}

}  // namespace

void decode_wgmma(Decoder& d) {
  Op& op = *d.op;
  op.touches_pending = true;
  const std::string& what = d.modifier(0);
  d.ignore({"sync", "aligned"});
  if (what == "fence") {
    op.run = fence;
  } else if (what == "commit_group") {
    op.run = commit;
  } else if (what == "wait_group") {
    op.imm = d.immediate(0);
    op.run = wait;
  } else if (what == "mma_async") {
    int n = 0, k = 0;
    std::vector<std::string> types;
    d.for_modifiers([&](const std::string& modifier) {
      if (std::sscanf(modifier.c_str(), "m64n%dk%d", &n, &k) == 2) return true;
      if (ptx::type_of(modifier) == Type::None) return false;
      types.push_back(modifier);
      return true;
    });
    if (n < 8 || n > 256 || n % 8 != 0 || types.size() != 3) d.unsupported("this shape or these types");
    op.shape[0] = static_cast<uint16_t>(n);
    op.shape[1] = static_cast<uint16_t>(format_of(d, types[1]));
    op.shape[2] = static_cast<uint16_t>(format_of(d, types[2]));
    op.shape[3] = static_cast<uint16_t>(types[0] == "f32"   ? tensor::Result::F32
                                        : types[0] == "f16" ? tensor::Result::F16
                                                            : tensor::Result::S32);
    if (types[0] == "f16") op.flags |= kPackedHalf;
    for (const Operand& each : d.operand(0).elements) d.extra().list.push_back(d.destination(each, 4));
    if (d.extra().list.size() != static_cast<size_t>(types[0] == "f16" ? n / 4 : n / 2))
      d.unsupported("the number of accumulators does not match N");
    if (d.is_vector(1)) {
      op.flags |= kARegisters;
      for (const Operand& each : d.operand(1).elements) d.extra().list2.push_back(d.source(each, Type::B32));
    } else {
      op.a = d.source(1, Type::B64);
    }
    op.b = d.source(2, Type::B64);
    const Operand& scale = d.operand(3);
    if (scale.kind == Operand::Kind::Immediate) {
      op.flags |= scale.value ? kConstantTrue : kConstantFalse;
    } else {
      bool negated = false;
      op.c = d.predicate_source(scale, &negated);
      if (negated) op.flags |= kNegated;
    }
    size_t at = 4;
    const bool integers = types[0] == "s32";
    if (!integers && at < d.count()) {
      if (d.immediate(at++) < 0) op.flags |= kANegative;
      if (d.immediate(at++) < 0) op.flags |= kBNegative;
    }
    if (!(op.flags & kARegisters) && at + 1 < d.count() && d.immediate(at++) != 0) op.flags |= kATransposed;
    if (at < d.count() && d.immediate(at) != 0) op.flags |= kBTransposed;
    op.run = mma;
  }
}

}  // namespace sim
