#include "timing/counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/base/json.h"
#include "exec/async/destination.h"
#include "exec/core/program.h"
#include "machine/address.h"

namespace sim {
namespace {

constexpr auto kLines = base::JsonWriter::Layout::lines;

/// All sums, with their names in the output.
constexpr std::pair<const char*, uint64_t Counters::*> kFields[] = {
    {"warp_instructions", &Counters::warp_instructions},
    {"lane_instructions", &Counters::lane_instructions},
    {"tensor_flops", &Counters::tensor_flops},
    {"tensor_instructions", &Counters::tensor_instructions},
    {"tma_instructions", &Counters::tma_instructions},
    {"tma_load_bytes", &Counters::tma_load_bytes},
    {"tma_fetch_bytes", &Counters::tma_fetch_bytes},
    {"tma_store_bytes", &Counters::tma_store_bytes},
    {"global_load_bytes", &Counters::global_load_bytes},
    {"global_store_bytes", &Counters::global_store_bytes},
    {"redundant_store_bytes", &Counters::redundant_store_bytes},
    {"overwritten_bytes", &Counters::overwritten_bytes},
    {"barrier_waits", &Counters::barrier_waits},
    {"barrier_waits_blocked", &Counters::barrier_waits_blocked},
    {"cta_barriers", &Counters::cta_barriers},
    {"cluster_barriers", &Counters::cluster_barriers},
    {"tmem_reads", &Counters::tmem_reads},
};

template <class T>
uint64_t distinct(T* values, size_t count) {
  std::sort(values, values + count);
  return static_cast<uint64_t>(std::unique(values, values + count) - values);
}

Counters::Access& slot(std::vector<Counters::Access>& accesses, uint32_t pc) {
  if (accesses.size() <= pc) accesses.resize(pc + 1);
  return accesses[pc];
}

void merge(std::vector<Counters::Access>& into, const std::vector<Counters::Access>& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    into[i].count += from[i].count;
    into[i].sectors += from[i].sectors;
    into[i].lines += from[i].lines;
    into[i].wavefronts += from[i].wavefronts;
    into[i].bytes += from[i].bytes;
  }
}

/// The most expensive accesses first: by lines in global memory, by wavefronts in shared memory.
void write_accesses(base::JsonWriter& json, const char* name, const std::vector<Counters::Access>& accesses,
                    const Program& program, bool global) {
  std::vector<uint32_t> order;
  for (uint32_t pc = 0; pc < accesses.size(); ++pc) {
    if (accesses[pc].count > 0) order.push_back(pc);
  }
  const auto cost = [&](uint32_t pc) { return global ? accesses[pc].lines : accesses[pc].wavefronts; };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return cost(a) > cost(b); });
  const auto write = [&](uint32_t pc) {
    const Counters::Access& access = accesses[pc];
    const ptx::Instruction& instruction = *program.instructions[program.ops[pc].source];
    json.member("instruction", instruction.form());
    json.member("ptx_line", instruction.line);
    json.member("source", program.source_line(pc));
    json.member("warp_accesses", access.count);
    json.member("bytes", access.bytes);
    if (global) {
      json.member("sectors", access.sectors);
      json.member("lines", access.lines);
    } else {
      json.member("wavefronts", access.wavefronts);
    }
  };
  const auto write_all = [&] {
    for (const uint32_t pc : order) json.object([&] { write(pc); });
  };
  json.array(name, write_all, kLines);
}

void write_launch(base::JsonWriter& json, const LaunchRecord& record) {
  const auto triple = [&](const char* name, const std::array<uint32_t, 3>& v) {
    json.array(name, [&] {
      for (const uint32_t extent : v) json.value(extent);
    });
  };
  const Counters& c = record.counters;
  json.member("kernel", record.kernel);
  json.member("entry", record.program->kernel->name);
  triple("grid", record.grid);
  triple("block", record.block);
  triple("cluster", record.cluster);
  if (record.useful_tensor_flops > 0) json.member("useful_tensor_flops", record.useful_tensor_flops);
  for (const auto& [name, field] : kFields) json.member(name, c.*field);
  write_accesses(json, "global", c.global_accesses, *record.program, true);
  write_accesses(json, "shared", c.shared_accesses, *record.program, false);
}

}  // namespace

std::string to_json(const std::string& gpu, int sms, std::span<const LaunchRecord> launches) {
  std::string text;
  base::JsonWriter json(text);
  json.object([&] {
    json.member("gpu", gpu);
    json.member("sms", sms);
    const auto write_all = [&] {
      for (const LaunchRecord& launch : launches) json.object([&] { write_launch(json, launch); }, kLines);
    };
    json.array("launches", write_all, kLines);
  });
  return text + "\n";
}

void Counters::add(const Counters& other) {
  for (const auto& [name, field] : kFields) this->*field += other.*field;
  merge(global_accesses, other.global_accesses);
  merge(shared_accesses, other.shared_accesses);
}

Touched touched(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
  std::array<uint64_t, 64> sectors, lines;
  size_t n = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const uint64_t address = addresses[std::countr_zero(rest)];
    // An aligned access of up to 32 bytes lies in one sector; the second entry serves the ends of longer ones.
    sectors[n] = address / kSectorBytes;
    lines[n++] = address / kLineBytes;
    sectors[n] = (address + bytes - 1) / kSectorBytes;
    lines[n++] = (address + bytes - 1) / kLineBytes;
  }
  return {distinct(sectors.data(), n), distinct(lines.data(), n)};
}

std::vector<uint64_t> touched_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
  std::vector<uint64_t> all;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const uint64_t address = addresses[std::countr_zero(rest)];
    all.push_back(address / kSectorBytes);
    all.push_back((address + bytes - 1) / kSectorBytes);
  }
  all.resize(distinct(all.data(), all.size()));
  return all;
}

void count_global(Counters& counters, uint32_t pc, const uint64_t* addresses, uint32_t mask, uint32_t bytes,
                  bool is_store) {
  const Touched all = touched(addresses, mask, bytes);
  Counters::Access& access = slot(counters.global_accesses, pc);
  const uint64_t total = static_cast<uint64_t>(std::popcount(mask)) * bytes;
  ++access.count;
  access.sectors += all.sectors;
  access.lines += all.lines;
  access.bytes += total;
  (is_store ? counters.global_store_bytes : counters.global_load_bytes) += total;
}

namespace {
int lanes_per_pass(uint32_t bytes) { return bytes >= 16 ? 8 : bytes == 8 ? 16 : 32; }
}  // namespace

uint32_t shared_passes(uint32_t mask, uint32_t bytes) {
  const int lanes = lanes_per_pass(bytes);
  uint32_t passes = 0;
  for (int first = 0; first < 32; first += lanes) passes += (mask >> first & ((uint64_t{1} << lanes) - 1)) != 0;
  return passes;
}

uint32_t shared_wavefronts(const uint32_t* offsets, uint32_t mask, uint32_t bytes) {
  const uint32_t words = std::max(bytes, 4u) / 4;
  uint32_t total = 0;
  for (int first = 0; first < 32; first += lanes_per_pass(bytes)) {
    std::array<std::array<uint32_t, 32>, 32> bank;  // distinct words per bank
    std::array<uint8_t, 32> depth{};
    uint32_t worst = 0;
    for (int lane = first; lane < first + lanes_per_pass(bytes); ++lane) {
      if (!(mask >> lane & 1)) continue;
      for (uint32_t i = 0; i < words; ++i) {
        const uint32_t word = offsets[lane] / 4 + i;
        auto& column = bank[word % 32];
        uint8_t& used = depth[word % 32];
        if (std::find(column.begin(), column.begin() + used, word) != column.begin() + used) continue;
        if (used < 32) column[used++] = word;
        worst = std::max<uint32_t>(worst, used);
      }
    }
    total += worst;
  }
  return total;
}

void count_shared(Counters& counters, uint32_t pc, const uint32_t* offsets, uint32_t mask, uint32_t bytes) {
  Counters::Access& access = slot(counters.shared_accesses, pc);
  ++access.count;
  access.wavefronts += shared_wavefronts(offsets, mask, bytes);
  access.bytes += static_cast<uint64_t>(std::popcount(mask)) * bytes;
}

std::array<uint32_t, 32> offsets_of(const AccessEvent& event) {
  std::array<uint32_t, 32> offsets;
  for (Mask rest = event.lanes; rest; rest &= rest - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(rest));
    offsets[lane] = event.address[lane] & kSharedOffsetMask;
  }
  return offsets;
}

// ---- the watcher

/// Counts for the clusters of one engine.
class ClusterCounter final : public Watcher {
 public:
  explicit ClusterCounter(CountersWatcher& launch)
      : Watcher({EventKind::Work, EventKind::Access, EventKind::Store, EventKind::Phase, EventKind::Wait,
                 EventKind::Issue, EventKind::Landing, EventKind::Tensor}),
        launch_(launch) {}

  void retires(const Cluster& cluster) override {
    counters_.warp_instructions = cluster.warp_instructions;
    counters_.lane_instructions = cluster.lane_instructions;
    launch_.total.add(counters_);
  }
  void on(const AccessEvent& event) override {
    if (!event.is_done || !event.is_own_instruction) return;
    if (event.memory == AccessEvent::Memory::Shared) {
      count_shared(counters_, event.pc, offsets_of(event).data(), event.lanes, event.bytes);
    } else if (event.memory != AccessEvent::Memory::Local) {
      count_global(counters_, event.pc, event.address, event.lanes, event.bytes, event.role == Role::Store);
    }
  }
  void on(const StoreEvent& event) override {
    if (event.is_done || event.values == nullptr) return;
    for (Mask rest = event.lanes; rest; rest &= rest - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(rest));
      const auto address = device_address(event.host[lane]);
      if (launch_.memory_.in_range(address))
        launch_.audit_.record(launch_.memory_, address, event.values + lane * event.bytes, event.bytes, counters_);
    }
  }
  void on(const PhaseEvent& event) override {
    if (event.barrier.kind == BarrierName::Kind::Named) ++counters_.cta_barriers;
    if (event.barrier.kind == BarrierName::Kind::Cluster) ++counters_.cluster_barriers;
  }
  void on(const WaitEvent& event) override {
    if (event.why != Wait::Mbarrier || event.what != WaitEvent::What::Asks) return;
    ++counters_.barrier_waits;
    if (event.passed != event.lanes) ++counters_.barrier_waits_blocked;
  }
  void on(const IssueEvent& event) override {
    if (event.role != Role::BulkLoad && event.role != Role::BulkStore) return;
    ++counters_.tma_instructions;
    if (event.role == Role::BulkStore) return;
    counters_.tma_fetch_bytes += event.bytes;
    counters_.tma_load_bytes += event.bytes * event.to->credits.size();
  }
  void on(const LandingEvent& event) override {
    if (event.what == LandingEvent::What::Written) counters_.tma_store_bytes += event.bytes;
  }
  void on(const TensorEvent& event) override {
    if (event.what == TensorEvent::What::Load) ++counters_.tmem_reads;
    if (event.what != TensorEvent::What::Multiplies) return;
    counters_.tensor_flops += 2 * event.multiply_adds;
    ++counters_.tensor_instructions;
  }

 private:
  CountersWatcher& launch_;
  Counters counters_;
};

std::unique_ptr<Watcher> CountersWatcher::watch(Cluster&) { return std::make_unique<ClusterCounter>(*this); }

}  // namespace sim
