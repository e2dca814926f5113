#include "timing/demands.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "engine/default_arithmetic.h"
#include "exec/core/program.h"
#include "report/faults.h"
#include "timing/ordinary_loads.h"
#include "timing/taint.h"
#include "timing/trace_watcher.h"

namespace sim {
namespace {

using timing::ClusterDemands;
using timing::GridDemands;

constexpr size_t kMostKinds = 256;

ClusterDemands empty(const Launch& launch) {
  return ClusterDemands(launch.cluster_size(), std::vector<timing::WarpDemands>((launch.threads_per_cta() + 31) / 32));
}

/// Executes the cluster to its end. `trace` may be null.
ClusterDemands record(Launch& launch, uint32_t number, timing::Forms& forms, timing::OrdinaryLoads& loads,
                      Trace* trace) {
  ClusterDemands demands = empty(launch);
  timing::DemandWatcher watcher(forms, demands, &loads);
  ClusterEngine engine(launch, {});
  TaintTracker unknown(*launch.program, false);
  std::optional<sim::ClusterTracer> tracer;
  if (trace != nullptr)
    engine.watch({&watcher, &unknown, &tracer.emplace(engine.cluster(), *trace)});
  else
    engine.watch({&watcher, &unknown});
  engine.start(number);
  for (;;) {
    const ClusterEngine::State state = engine.run(1u << 16);
    if (state == ClusterEngine::State::Done) return demands;
    if (state != ClusterEngine::State::Idle) continue;
    if (engine.waits_for_launch())
      engine.launch_before_ended();
    else
      engine.pass_time(1);
  }
}

/// A CTA's share of its SM's L1, after subtraction of shared memory.
uint64_t l1_bytes(const Launch& launch, uint32_t ctas_per_sm) {
  const uint64_t part = Gpu::l1_per_sm / ctas_per_sm;
  return part - std::min<uint64_t>(part, launch.smem_bytes);
}

/// The operations of the kernel for which the timing model charges no time, or too little.
std::vector<std::string> uncounted(const Program& program) {
  std::vector<std::string> all;
  const auto add = [&](bool found, const char* what) {
    if (found && std::find(all.begin(), all.end(), what) == all.end()) all.emplace_back(what);
  };
  for (const Traits& each : program.traits) {
    add(each.cost == CostClass::SyncMma, "what mma.sync multiplies");
    add(each.cost == CostClass::CopyAsync, "what cp.async moves, and waits for it");
    add(each.cost == CostClass::GlobalAtomic, "how long atomic operations wait, for L2 and for one another");
    add(each.is_fp64, "that FP64 has units of its own");
  }
  return all;
}

std::vector<timing::BoxPlace> places(const ClusterDemands& demands) {
  std::vector<timing::BoxPlace> all;
  for (const auto& cta : demands) {
    for (const timing::WarpDemands& warp : cta) all.insert(all.end(), warp.places.begin(), warp.places.end());
  }
  return all;
}

/// The loaded boxes by warp, without coordinates: clusters with equal signatures are of one kind.
using Signature = std::vector<uint32_t>;
Signature signature(const ClusterDemands& demands) {
  Signature all;
  for (const auto& cta : demands) {
    for (const timing::WarpDemands& warp : cta) {
      if (warp.places.empty()) continue;
      all.push_back(static_cast<uint32_t>(warp.places.size()));
      for (const timing::BoxPlace& place : warp.places) all.push_back(place.load);
    }
  }
  return all;
}

/// Adds kinds of clusters that take over the work of others: of about as many as there are per resident cluster.
/// `traced` as in demands_of.
void add_grants(Launch& launch, GridDemands& demands, std::vector<Trace::Part>* traced) {
  const uint32_t count = launch.cluster_count(), others = count / std::min(demands.resident, count) - 1;
  const uint32_t aside = 2 + others / 32;  // allowed deviation of a cluster from the mean
  demands.grants = {0};
  for (uint32_t grants = others - std::min(others, aside); grants <= others + 1 + aside; ++grants) {
    if (grants == 0) continue;
    launch.grants = grants;
    Trace trace;
    timing::OrdinaryLoads loads(demands.cluster_size, l1_bytes(launch, demands.ctas_per_sm));
    demands.kinds.push_back(record(launch, 0, demands.forms, loads, traced != nullptr ? &trace : nullptr));
    if (traced != nullptr) traced->push_back(trace.take());
    demands.executed.push_back(0);
    demands.grants.push_back(grants);
  }
  launch.grants = 0;
}

Failure refused(const FaultText& why, std::vector<Detail> details = {}) {
  return {why.status, {.kind = Finding::Kind::Refused, .fault = &why, .details = std::move(details)}};
}

}  // namespace

timing::GridDemands demands_of(const GridLaunch& grid, int threads, std::vector<Trace::Part>* traced) {
  Launch& launch = *grid.launch;
  GridDemands demands;
  demands.cluster_size = launch.cluster_size();
  demands.resident = grid.resident;
  demands.ctas_per_sm =
      static_cast<uint32_t>(std::max<uint64_t>(1, GridLaunch::kSm * launch.cluster_size() / grid.room_per_cluster));
  demands.overlaps = launch.predecessor != nullptr;
  demands.uncounted = uncounted(*launch.program);
  const bool steals = launch.program->cancels_clusters;
  if (launch.program->needs_others) throw refused(faults::timing_of_dependent_clusters);
  launch.moves_data = false;
  if (steals) launch.grants = 0;
  const DefaultArithmetic arithmetic;
  const uint32_t count = launch.cluster_count();
  demands.kind_of.resize(count);
  demands.places.resize(count);

  std::map<Signature, uint32_t> kinds;
  std::vector<timing::LoadsOfKind> loads_of_kinds;
  const auto count_loads = [&] {
    demands.only_last_loads = launch.program->counts_clusters;
    if (demands.only_last_loads) return;
    for (const uint32_t kind : demands.kind_of) ++loads_of_kinds[kind].clusters;
    demands.from_dram = timing::share_from_dram(loads_of_kinds);
  };
  const auto add_kind = [&](uint32_t number) {
    Trace trace;
    timing::OrdinaryLoads loads(demands.cluster_size, l1_bytes(launch, demands.ctas_per_sm));
    demands.kinds.push_back(record(launch, number, demands.forms, loads, traced != nullptr ? &trace : nullptr));
    const auto [at, fresh] = kinds.emplace(signature(demands.kinds.back()), demands.kinds.size() - 1);
    if (!fresh) {
      demands.kinds.pop_back();
    } else {
      demands.executed.push_back(number);
      loads_of_kinds.push_back({0, loads.missed_bytes(), loads.loaded()});
      if (traced != nullptr) traced->push_back(trace.take());
    }
    demands.kind_of[number] = at->second;
    demands.places[number] = places(demands.kinds[at->second]);
  };
  add_kind(0);
  if (steals) add_grants(launch, demands, traced);
  std::vector<uint32_t> loading;
  for (const auto& cta : demands.kinds[0]) {
    for (uint32_t warp = 0; warp < cta.size(); ++warp) {
      if (!cta[warp].places.empty() && std::find(loading.begin(), loading.end(), warp) == loading.end())
        loading.push_back(warp);
    }
  }
  if (loading.empty()) {  // all clusters are of the first one's kind
    count_loads();
    return demands;
  }

  std::atomic<uint32_t> next{1};
  std::mutex mutex;
  std::optional<Failure> failure;
  const auto walk = [&] {
    const DefaultArithmetic rounding;
    ClusterEngine engine(launch, {});
    TaintTracker unknown(*launch.program, true);
    timing::Forms forms;
    {
      const std::lock_guard lock(mutex);
      forms = demands.forms;
    }
    for (uint32_t number = next.fetch_add(1); number < count; number = next.fetch_add(1)) {
      ClusterDemands mine = empty(launch);
      timing::DemandWatcher watcher(forms, mine);
      engine.watch({&watcher, &unknown});
      try {
        engine.walk(number, loading);
      } catch (Failure& problem) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(problem);
        return;
      }
      Signature found = signature(mine);
      const std::lock_guard lock(mutex);
      if (const auto at = kinds.find(found); at != kinds.end() && forms.loads.size() == demands.forms.loads.size()) {
        demands.kind_of[number] = at->second;
        demands.places[number] = places(mine);
        continue;
      }
      if (steals) {
        failure = refused(faults::timing_of_unlike_clusters);
        return;
      }
      if (demands.kinds.size() >= kMostKinds) {
        failure = refused(faults::timing_of_many_kinds, {kMostKinds});
        return;
      }
      try {
        add_kind(number);
      } catch (Failure& problem) {
        failure = std::move(problem);
        return;
      }
      forms = demands.forms;
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(walk);
  walk();
  for (std::thread& thread : pool) thread.join();
  if (failure) throw std::move(*failure);
  if (!steals) count_loads();
  return demands;
}

}  // namespace sim
