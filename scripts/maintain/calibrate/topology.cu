// What the GPU is made of: its clocks, which SMs belong to one GPC, and which half of L2 is near to each SM.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "common/harness/text.h"
#include "common/ptx/registers.cuh"
#include "load.h"
#include "timers.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int ONE_CTA_PER_SM = 120 * 1024;  // bytes of shared memory

/// Stays long enough that all CTAs of the launch run at the same time, if there is room for them.
__global__ void find_place(uint32_t* places, int cycles) {
  if (threadIdx.x != 0) return;
  places[blockIdx.x] = ptx::smid();
  for (const int64_t start = clock64(); clock64() - start < cycles;) {}
}

struct Clocks {
  int64_t cycles, nanoseconds;
};

/// One thread per SM counts cycles while `nanoseconds` pass, from one tick of their clock to another.
__global__ void compare_clocks(Clocks* clocks, int64_t nanoseconds) {
  const int64_t start = ptx::globaltimer();
  int64_t now = start;
  while ((now = ptx::globaltimer()) == start) {}
  const int64_t begin_ns = now, begin = clock64();
  while (now < begin_ns + nanoseconds) now = ptx::globaltimer();
  clocks[blockIdx.x] = {clock64() - begin, now - begin_ns};
}

/// The SM with this number loads each line, first to bring it to L2, then `rounds` times. Lowest latency of each.
__global__ void time_lines(uint32_t sm, const int* const* lines, int count, int rounds, int* latencies) {
  if (ptx::smid() != sm || threadIdx.x != 0) return;
  for (int i = 0; i < count; ++i) {
    const int* const line = lines[i];
    int best = 1 << 30;
    for (int round = 0; round <= rounds; ++round) {
      const int latency = time_load(line, latencies);
      if (round > 0) best = min(best, latency);
    }
    latencies[static_cast<size_t>(sm) * count + i] = best;
  }
}

class Groups {  // union and find
 public:
  explicit Groups(int count) : parent_(static_cast<size_t>(count)) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int i) { return parent_[i] == i ? i : parent_[i] = find(parent_[i]); }
  void join(int a, int b) { parent_[find(a)] = find(b); }

 private:
  std::vector<int> parent_;
};

std::vector<uint32_t> places_of_clusters(const Context& context, int size, int clusters) {
  const DeviceArray<uint32_t> places(static_cast<size_t>(size) * clusters);
  cudaLaunchAttribute attribute{.id = cudaLaunchAttributeClusterDimension,
                                .val = {.clusterDim = {static_cast<unsigned>(size), 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = static_cast<unsigned>(size * clusters),
                            .blockDim = 32,
                            .dynamicSmemBytes = ONE_CTA_PER_SM,
                            .stream = context.stream,
                            .attrs = &attribute,
                            .numAttrs = 1};
  harness::check(cudaLaunchKernelEx(&config, find_place, places.data(), 50'000), "launching clusters");
  context.synchronize("looking where clusters run");
  return places.read();
}

/// Lines that are near to one SM are far from another. The pattern of an SM's latencies tells on which side it is.
struct LineLatencies {
  int lines;
  std::vector<int> cycles;  ///< [sm][line]; 0: no CTA came to this SM

  bool knows(int sm) const { return cycles[static_cast<size_t>(sm) * lines] != 0; }
  std::vector<double> of(int sm) const {
    const auto first = cycles.begin() + static_cast<ptrdiff_t>(sm) * lines;
    return {first, first + lines};
  }
  /// 1: both find the same lines near; -1: one finds near what the other finds far.
  double likeness(int sm, int other) const {
    const auto centred = [&](int which) {
      std::vector<double> values = of(which);
      const double mean = std::accumulate(values.begin(), values.end(), 0.0) / lines;
      for (double& value : values) value -= mean;
      return values;
    };
    const std::vector<double> a = centred(sm), b = centred(other);
    const auto product = [](auto& x, auto& y) { return std::inner_product(x.begin(), x.end(), y.begin(), 0.0); };
    return product(a, b) / std::sqrt(product(a, a) * product(b, b));
  }
};

LineLatencies time_all_lines(const Context& context) {
  const int sms = context.sms(), lines = context.scaled(64, 4), rounds = context.scaled(9, 1);
  const std::size_t apart = 1 << 18;
  const Field field(context, apart * static_cast<size_t>(lines));
  std::vector<const int*> addresses;
  for (int i = 0; i < lines; ++i)
    addresses.push_back(reinterpret_cast<const int*>(field.data()) +
                        (apart * i + 4096 * (i * 7 % 61) + 128 * (i % 29)) / 4);
  const DeviceArray<const int*> device_addresses(addresses);
  const DeviceArray<int> latencies(static_cast<size_t>(sms) * lines);
  harness::check(cudaFuncSetAttribute(time_lines, cudaFuncAttributeMaxDynamicSharedMemorySize, ONE_CTA_PER_SM),
                 "asking for shared memory");
  for (int sm = 0; sm < (context.quick ? 2 : sms); ++sm) {
    time_lines<<<sms, 32, ONE_CTA_PER_SM, context.stream>>>(static_cast<uint32_t>(sm), device_addresses.data(), lines,
                                                            rounds, latencies.data());
    harness::check(cudaGetLastError(), "launching loads of lines");
  }
  context.synchronize("timing lines");
  return {lines, latencies.read()};
}

}  // namespace

std::vector<std::vector<int>> find_gpcs(const Context& context) {
  harness::check(cudaFuncSetAttribute(find_place, cudaFuncAttributeMaxDynamicSharedMemorySize, ONE_CTA_PER_SM),
                 "asking for shared memory");
  Groups groups(context.sms());
  for (int repeat = 0; repeat < context.scaled(3, 1); ++repeat) {
    for (int size = 2; size <= std::min(8, context.sms()); ++size) {
      const std::vector<uint32_t> sms = places_of_clusters(context, size, context.sms() / size);
      for (size_t i = 0; i < sms.size(); ++i)
        groups.join(static_cast<int>(sms[i]), static_cast<int>(sms[i / size * size]));
    }
  }
  std::map<int, std::vector<int>> members;
  for (int sm = 0; sm < context.sms(); ++sm) members[groups.find(sm)].push_back(sm);
  std::vector<std::vector<int>> gpcs;
  for (auto& [root, sms] : members) gpcs.push_back(std::move(sms));
  std::sort(gpcs.begin(), gpcs.end());
  return gpcs;
}

std::vector<int> find_halves(const Context& context) {
  const LineLatencies measured = time_all_lines(context);
  std::vector<int> halves;
  for (int sm = 0; sm < context.sms(); ++sm)
    halves.push_back(measured.knows(sm) && measured.likeness(sm, 0) < 0 ? 1 : 0);
  return halves;
}

void run_topology(Context& context) {
  const DeviceArray<Clocks> clocks(static_cast<size_t>(context.sms()));
  compare_clocks<<<context.sms(), 1, 0, context.stream>>>(clocks.data(), context.scaled(20'000'000, 2'000));
  harness::check(cudaGetLastError(), "launching a loop");
  context.synchronize("comparing clocks");
  std::vector<double> mhz;
  for (const Clocks& c : clocks.read())
    mhz.push_back(1e3 * static_cast<double>(c.cycles) / static_cast<double>(c.nanoseconds));
  context.results.add("load=none", "clock", "MHz", Summary(mhz));
  context.results.add("", "multiprocessors", "", context.sms());
}

/// GPCs have clocks of their own, which diverge where the chip reaches its power limit. All SMs multiply and load,
/// first for as long as it takes to be held at the limit.
void run_clocks(Context& context) {
  const auto gpcs = find_gpcs(context);
  const Field field(context, std::size_t{1} << 25);
  const Walk walk{.k_blocks = 4, .row_step = 256};
  const CUtensorMap map = field.map(Field::FLAT, 128, 64, mma::Swizzle::B128);
  Work work{.walk = walk, .stages = 4, .mma_n = 256};
  for (int cta = 0; cta < context.sms(); ++cta) {
    const int row = cta * walk.k_blocks * walk.row_step;
    work.tiles.push_back({row, row + walk.row_step / 2});
  }
  work.repeat = context.scaled(250'000, 2);
  do_work(context, work, map, field);
  work.repeat = context.scaled(1'500, 2);
  std::vector<double> mhz(static_cast<size_t>(context.sms()), 0);
  for (const CtaRecord& r : do_work(context, work, map, field).ctas)
    mhz[r.sm] = 1e3 * static_cast<double>(r.end_cycle - r.begin_cycle) / static_cast<double>(r.end_ns - r.begin_ns);
  for (size_t gpc = 0; gpc < gpcs.size(); ++gpc) {
    if (gpcs[gpc].size() < 8 && !context.quick) continue;  // a part of a GPC, whose few readings differ by more
    std::vector<double> of_gpc;
    for (const int sm : gpcs[gpc]) of_gpc.push_back(mhz[static_cast<size_t>(sm)]);
    context.results.add(format("load=sustained gpc=%zu", gpc), "clock", "MHz", Summary(of_gpc));
  }
}

}  // namespace calibrate
