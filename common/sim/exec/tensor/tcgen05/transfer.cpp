// tcgen05.ld, st and their waits: between tensor memory and a warp's registers.
#include <algorithm>
#include <array>

#include "exec/core/families.h"
#include "exec/core/pending.h"
#include "exec/core/report.h"
#include "exec/core/submit.h"
#include "exec/tensor/tcgen05/group.h"

namespace sim {
namespace tcgen05 {
namespace {

using ptx::Type;

enum class Shape : uint8_t { Lanes32x32b, Lanes16x64b, Lanes16x128b, Lanes16x256b, Lanes16x32bx2 };

struct RowCell {
  int lane, column;  ///< relative to the access's
};

struct TransferOperands {
  TmemOperand at;
  Shape shape = Shape::Lanes32x32b;
  int second_half = 0;             ///< .16x32bx2: columns from the first half to the second
  bool packed = false;             ///< two 16-bit cells per register
  std::vector<int32_t> registers;  ///< slots
  std::vector<Slot> written;       ///< of a load, as pending registers

  /// The cell behind (thread lane t, register or half of one i).
  RowCell cell_of(int t, int i) const {
    switch (shape) {
      case Shape::Lanes32x32b: return {t, i};
      case Shape::Lanes16x64b: return {t / 4 + 8 * (t % 2), 2 * i + t / 2 % 2};
      case Shape::Lanes16x128b: return {t / 4 + 8 * (i % 2), 4 * (i / 2) + t % 4};
      case Shape::Lanes16x256b: return {t / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2};
      case Shape::Lanes16x32bx2: break;
    }
    return {t % 16, t < 16 ? i : second_half + i};
  }
  int columns() const {
    const int cells = static_cast<int>(registers.size()) * (packed ? 2 : 1);
    if (shape == Shape::Lanes32x32b) return cells;
    if (shape == Shape::Lanes16x32bx2) return std::max(cells, second_half + cells);
    return 2 * cells;
  }
};

/// Checks one access and returns its first lane.
int access_lane(const Cta& cta, uint32_t warp, uint32_t address, const TransferOperands& o, const char* what) {
  const int quarter = static_cast<int>(warp % 4);
  const uint32_t named = address >> 16;
  const bool whole = o.shape == Shape::Lanes32x32b;
  if (named / 32 % 4 != 0 && static_cast<int>(named / 32 % 4) != quarter) {
    throw Fault{faults::transfer_out_of_reach, {what, warp, 32 * quarter, 32 * quarter + 31, named}};
  }
  if (named % 32 != 0 && (whole || named % 32 != 16)) {
    throw Fault{whole ? faults::transfer_at_no_quarter : faults::transfer_at_no_half, {what, named}};
  }
  const int first = tmem_column(address), columns = o.columns();
  if (!cta.tmem.allocated(first, columns)) {
    throw Fault{faults::transfer_not_allocated, {what, first, first + columns - 1, cta.tmem.describe()}};
  }
  return 32 * quarter + static_cast<int>(named % 32);
}

Footprint moved(const Warp& warp, const TransferOperands& o, uint32_t address, bool written) {
  return {.bytes = 128ull * o.registers.size(),
          .places = {{Footprint::Place::Space::Tensor, written, warp.cta->rank,
                      static_cast<uint32_t>(tmem_column(address)), static_cast<uint32_t>(o.columns())}}};
}

/// Calls f(register, thread lane, cell, half of the register) for each element of an access.
template <class F>
void for_cells(const TransferOperands& o, Mask mask, F f) {
  const int halves = o.packed ? 2 : 1;
  for (size_t i = 0; i < o.registers.size(); ++i) {
    for (Mask rest = mask; rest; rest &= rest - 1) {
      const int t = first_lane(rest);
      for (int half = 0; half < halves; ++half)
        f(i, static_cast<size_t>(t), o.cell_of(t, halves * static_cast<int>(i) + half), half);
    }
  }
}

void wake(Warp& warp, Wait kind) {
  for_waiting(warp, kind, [&](uint8_t split) {
    const Split& waiting = warp.splits[split];
    cluster_of(warp).watchers.tell(WaitEvent{WaitEvent::What::Wakes, kind, warp, waiting.mask, waiting.pc});
    resume(warp, split, 0);
  });
}

class TmemLoad final : public AsyncOperation {
 public:
  Warp* warp = nullptr;
  const TransferOperands* operands = nullptr;
  uint32_t address = 0, number = 0;
  Mask mask = 0;

  void complete(Cluster& cluster) override {
    const TransferOperands& o = *operands;
    Cta& cta = *warp->cta;
    const int lane0 = access_lane(cta, warp->index, address, o, "tcgen05.ld"), column0 = tmem_column(address);
    const auto read = [&](const RowCell& cell) { return cta.tmem.column(column0 + cell.column)[lane0 + cell.lane]; };
    for (size_t i = 0; i < o.registers.size(); ++i) {
      auto* d = lanes<uint32_t>(*warp, o.registers[i]);
      const int n = static_cast<int>(i);
      if (o.shape == Shape::Lanes32x32b && !o.packed && mask == kAllLanes) {
        std::memcpy(d, cta.tmem.column(column0 + n) + lane0, 128);
        continue;
      }
      for (Mask rest = mask; rest; rest &= rest - 1) {
        const int t = first_lane(rest);
        d[t] = o.packed ? (read(o.cell_of(t, 2 * n)) & 0xFFFF) | read(o.cell_of(t, 2 * n + 1)) << 16
                        : read(o.cell_of(t, n));
      }
    }
    complete_pending(*warp, number);
    ++cluster.changes;
    if (--warp->tmem_loads == 0) wake(*warp, Wait::TmemLoad);
  }
  OperationUnit unit() const override { return OperationUnit::TensorMemory; }
  std::string describe() const override { return "tcgen05.ld"; }
  Footprint footprint() const override { return moved(*warp, *operands, address, false); }
};

class TmemStore final : public AsyncOperation {
 public:
  Warp* warp = nullptr;
  const TransferOperands* operands = nullptr;
  uint32_t address = 0;
  Mask mask = 0;
  std::vector<std::array<uint32_t, 32>> values;

  void complete(Cluster& cluster) override {
    const TransferOperands& o = *operands;
    Cta& cta = *warp->cta;
    const int lane0 = access_lane(cta, warp->index, address, o, "tcgen05.st"), column0 = tmem_column(address);
    for_cells(o, mask, [&](size_t i, size_t t, const RowCell& cell, int half) {
      const uint32_t value = values[i][t];
      cta.tmem.column(column0 + cell.column)[lane0 + cell.lane] = !o.packed   ? value
                                                                  : half == 0 ? value & 0xFFFF
                                                                              : value >> 16;
    });
    std::vector<Tmem::Store>& stores = cta.tmem.stores;
    stores.erase(std::ranges::find(stores, &warp->tmem_store_order, &Tmem::Store::order));
    ++cluster.changes;
    if (--warp->tmem_stores == 0) wake(*warp, Wait::TmemStore);
  }
  OperationUnit unit() const override { return OperationUnit::TensorMemory; }
  std::string describe() const override { return "tcgen05.st"; }
  Footprint footprint() const override { return moved(*warp, *operands, address, true); }
};

/// The cells that the warp's access concerns, for the order checker.
std::vector<Range> cells(Warp& w, const TransferOperands& o, uint32_t address, const char* what) {
  const int lane = access_lane(*w.cta, w.index, address, o, what);
  const int lanes_high = o.shape == Shape::Lanes32x32b ? 32 : 16;
  return tensor_range(lane, lanes_high, tmem_column(address), o.columns());
}

/// The common first step of loads and stores: checks the address, which must be the same in all lanes.
uint32_t begin_transfer(Warp& w, const TransferOperands& o, Mask m, const char* what) {
  const uint32_t address = o.at.of(w, first_lane(m));
  for (Mask rest = m; rest; rest &= rest - 1) {
    if (o.at.of(w, first_lane(rest)) != address) {
      throw Fault{faults::transfer_of_several_addresses, {}, first_lane(rest)};
    }
  }
  access_lane(*w.cta, w.index, address, o, what);
  return address;
}

Latency transfer_time(Warp& w, const TransferOperands& o, OrderQueue& order) {
  const Costs& costs = cluster_of(w).costs();
  const uint64_t busy = 128ull * o.registers.size() / static_cast<uint64_t>(costs.tmem_bytes_per_cycle);
  return {.busy = busy, .latency = static_cast<uint64_t>(costs.tmem_load) + busy, .order = &order};
}

/// Starts the operation. Hardware executes a warp's accesses to tensor memory in order; seeded and latest schedules do
/// so only if the program tolerates the habit that relies on it.
void start(Warp& w, Mask m, std::unique_ptr<AsyncOperation> transfer, const Latency& when, Habit habit) {
  const Launch& launch = *cluster_of(w).launch;
  if (!launch.lenient && launch.tolerated.contains(habit))
    transfer->complete(cluster_of(w));
  else
    submit(w, first_lane(m), std::move(transfer), when);
  w.executed_at_effect = w.executed;
}

/// Cells that an unfinished store has still to write may not be loaded yet, though hardware does so in order. Returns
/// the queue of the store after which this load takes effect; its own warp's queue of loads if there is none.
OrderQueue& require_stored(Warp& w, const TransferOperands& o, uint32_t address, Mask m) {
  Cta& cta = *w.cta;
  if (cta.tmem.stores.empty()) return w.tmem_load_order;
  const int lane0 = access_lane(cta, w.index, address, o, "tcgen05.ld"), column0 = tmem_column(address);
  OrderQueue* after = nullptr;
  for (const Tmem::Store& each : cta.tmem.stores) {
    if (each.quarter == lane0 / 32 && each.first < column0 + o.columns() && column0 < each.first + each.count)
      after = each.order;
  }
  bool is_stored = true;
  for_cells(o, m, [&](size_t, size_t, const RowCell& cell, int) {
    is_stored &= cta.tmem.column(column0 + cell.column)[lane0 + cell.lane] != Tmem::kPoison;
  });
  if (after == nullptr || is_stored) return w.tmem_load_order;
  const Fault fault{faults::load_of_unfinished_store};
  tolerate_violation(cluster_of(w), Habit::StoreWithoutWait, fault, &w, nullptr);
  return *after;
}

void tell_of(Warp& w, Mask m, const TransferOperands& o, uint32_t address, TensorEvent::What what, const char* name) {
  const Watchers& watchers = cluster_of(w).watchers;
  if (!watchers.want(EventKind::Tensor)) return;
  TensorEvent told{.what = what,
                   .cluster = cluster_of(w),
                   .warp = &w,
                   .lanes = m,
                   .pc = w.split().pc,
                   .amount = static_cast<uint32_t>(128 * o.registers.size())};
  TensorAccesses accesses;
  if (watchers.want(EventKind::Operands)) {
    for (const Range& range : cells(w, o, address, name)) accesses.results.push_back({w.cta->rank, range});
    told.accesses = &accesses;
  }
  watchers.tell(told);
}

Flow load(Warp& w, const TransferOperands& o, Mask m) {
  require(w);
  if (!gather_all(w, &m)) return Flow::Block;
  auto load = std::make_unique<TmemLoad>();
  load->address = begin_transfer(w, o, m, "tcgen05.ld");
  OrderQueue& order = require_stored(w, o, load->address, m);
  load->warp = &w, load->operands = &o, load->mask = m;
  load->number = begin_pending(w, o.written, true);
  tell_of(w, m, o, load->address, TensorEvent::What::Load, "tcgen05.ld");
  ++w.tmem_loads;
  start(w, m, std::move(load), transfer_time(w, o, order), Habit::LoadWithoutWait);
  return Flow::Next;
}

Flow store(Warp& w, const TransferOperands& o, Mask m) {
  require(w);
  if (!gather_all(w, &m)) return Flow::Block;
  auto store = std::make_unique<TmemStore>();
  store->address = begin_transfer(w, o, m, "tcgen05.st");
  store->warp = &w, store->operands = &o, store->mask = m;
  for (const int32_t slot : o.registers)
    std::memcpy(store->values.emplace_back().data(), lanes<uint32_t>(w, slot), 128);
  ++w.tmem_stores;
  // Until the store is complete, these cells may have the old or the new value.
  Tmem& tmem = w.cta->tmem;
  const int lane0 = access_lane(*w.cta, w.index, store->address, o, "tcgen05.st");
  for_cells(o, m, [&](size_t, size_t, const RowCell& cell, int) {
    tmem.column(tmem_column(store->address) + cell.column)[lane0 + cell.lane] = Tmem::kPoison;
  });
  tmem.stores.push_back({lane0 / 32, tmem_column(store->address), o.columns(), &w.tmem_store_order});
  tell_of(w, m, o, store->address, TensorEvent::What::Store, "tcgen05.st");
  start(w, m, std::move(store), transfer_time(w, o, w.tmem_store_order), Habit::StoreWithoutWait);
  return Flow::Next;
}

Flow wait_for(Warp& w, Mask m, Wait why, uint32_t in_flight) {
  WaitEvent told{WaitEvent::What::Asks, why, w, m, w.split().pc};
  cluster_of(w).watchers.tell(told);
  if (in_flight > 0) return block(w, why);
  told.what = WaitEvent::What::Passes;
  cluster_of(w).watchers.tell(told);
  return Flow::Next;
}
Flow wait_load(Warp& w, const NoOperands&, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  return wait_for(w, m, Wait::TmemLoad, w.tmem_loads);
}
Flow wait_store(Warp& w, const NoOperands&, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  return wait_for(w, m, Wait::TmemStore, w.tmem_stores);
}

// ---- decoding

template <bool STORES>
void decode_transfer(Decoder& d) {
  static constexpr std::pair<std::string_view, Shape> kShapes[] = {{"32x32b", Shape::Lanes32x32b},
                                                                   {"16x64b", Shape::Lanes16x64b},
                                                                   {"16x128b", Shape::Lanes16x128b},
                                                                   {"16x256b", Shape::Lanes16x256b},
                                                                   {"16x32bx2", Shape::Lanes16x32bx2}};
  d.ignore({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128", "b32"});
  TransferOperands o;
  o.shape = d.one_of(kShapes, faults::unknown_shape);
  o.packed = d.which({"pack::16b", "unpack::16b"}) >= 0;
  o.at = TmemOperand::decode(d, STORES ? 0 : 1);
  const bool halves = o.shape == Shape::Lanes16x32bx2;
  if (halves) o.second_half = static_cast<int>(d.immediate(STORES ? 1 : 2));
  if (STORES) {
    o.registers = d.sources(d.operand(halves ? 2 : 1), Type::B32);
    return d.emit<store>(std::move(o));
  }
  o.registers = d.destinations(d.operand(0), 4);
  o.written = joined(d.uses().writes);
  d.op->touches_pending = true;
  d.emit<load>(std::move(o));
}

template <auto WAIT>
void decode_wait(Decoder& d) {
  d.emit<WAIT>({});
  d.op->touches_pending = true;
}

constexpr Mnemonic kMnemonics[] = {
    {"tcgen05.ld", decode_transfer<false>, Manner{.alone = kNoEffect}},
    {"tcgen05.st", decode_transfer<true>, Manner{.use = DataUse::Carries, .alone = kNoEffect}},
    {"tcgen05.wait::ld", decode_wait<wait_load>},
    {"tcgen05.wait::st", decode_wait<wait_store>},
};
constexpr std::string_view kIgnored[] = {"sync", "aligned"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_transfer{tcgen05::kMnemonics, tcgen05::kIgnored};

}  // namespace sim
