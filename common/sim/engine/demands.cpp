#include "engine/demands.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "engine/default_arithmetic.h"
#include "exec/core/program.h"

namespace sim {
namespace {

using timing::ClusterDemands;
using timing::GridDemands;

constexpr size_t MOST_KINDS = 64;

ClusterDemands empty(const Launch& launch) {
  return ClusterDemands(launch.cluster_size(), std::vector<timing::WarpDemands>((launch.threads_per_cta() + 31) / 32));
}

/// Executes the cluster to its end. `trace` may be null.
ClusterDemands record(Launch& launch, uint32_t number, timing::Sites& sites, Trace* trace) {
  ClusterDemands demands = empty(launch);
  timing::Recorder recorder(sites, demands);
  ClusterEngine engine(launch, {});
  engine.trace_to(trace);
  engine.record(recorder);
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

std::vector<timing::Place> places(const ClusterDemands& demands) {
  std::vector<timing::Place> all;
  for (const auto& cta : demands) {
    for (const timing::WarpDemands& warp : cta) all.insert(all.end(), warp.places.begin(), warp.places.end());
  }
  return all;
}

/// Which boxes, by warp, wherever they lie: clusters that agree in this are of one kind.
using Signature = std::vector<uint32_t>;
Signature signature(const ClusterDemands& demands) {
  Signature all;
  for (const auto& cta : demands) {
    for (const timing::WarpDemands& warp : cta) {
      if (warp.places.empty()) continue;
      all.push_back(static_cast<uint32_t>(warp.places.size()));
      for (const timing::Place& place : warp.places) all.push_back(place.load);
    }
  }
  return all;
}

/// Clusters that take over the work of about as many others as there are for each that the GPU holds. `traced` as below.
void add_grants(Launch& launch, GridDemands& demands, std::vector<Trace::Part>* traced) {
  const uint32_t count = launch.cluster_count(), others = count / std::min(demands.resident, count) - 1;
  const uint32_t aside = 2 + others / 32;  // how far a cluster may be ahead of the mean, or behind
  demands.grants = {0};
  for (uint32_t grants = others - std::min(others, aside); grants <= others + 1 + aside; ++grants) {
    if (grants == 0) continue;
    launch.grants = grants;
    Trace trace;
    demands.kinds.push_back(record(launch, 0, demands.sites, traced != nullptr ? &trace : nullptr));
    if (traced != nullptr) traced->push_back(trace.take());
    demands.executed.push_back(0);
    demands.grants.push_back(grants);
  }
  launch.grants = 0;
}

}  // namespace

timing::GridDemands demands_of(const GridLaunch& grid, int threads, std::vector<Trace::Part>* traced) {
  Launch& launch = *grid.launch;
  GridDemands demands;
  demands.cluster_size = launch.cluster_size();
  demands.resident = grid.resident;
  demands.ctas_per_sm =
      static_cast<uint32_t>(std::max<uint64_t>(1, GridLaunch::SM * launch.cluster_size() / grid.room_per_cluster));
  demands.overlaps = launch.predecessor != nullptr;
  const bool steals = launch.program->cancels_clusters;
  if (launch.program->needs_order)
    throw Failure{Status::NotSupported,
                  "sim: --timing: the clusters of this kernel affect one another, so that what each does "
                  "depends on when the others do it. This the timing model cannot tell."};
  launch.moves_data = false;
  if (steals) launch.grants = 0;
  const DefaultArithmetic arithmetic;
  const uint32_t count = launch.cluster_count();
  demands.kind_of.resize(count);
  demands.places.resize(count);

  std::map<Signature, uint32_t> kinds;
  const auto add_kind = [&](uint32_t number) {
    Trace trace;
    demands.kinds.push_back(record(launch, number, demands.sites, traced != nullptr ? &trace : nullptr));
    const auto [at, fresh] = kinds.emplace(signature(demands.kinds.back()), demands.kinds.size() - 1);
    if (!fresh) {
      demands.kinds.pop_back();
    } else {
      demands.executed.push_back(number);
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
  if (loading.empty()) return demands;  // all clusters are like the first

  std::atomic<uint32_t> next{1};
  std::mutex mutex;
  std::optional<Failure> failure;
  const auto walk = [&] {
    const DefaultArithmetic rounding;
    ClusterEngine engine(launch, {});
    engine.trace_to(nullptr);
    timing::Sites sites;
    {
      const std::lock_guard lock(mutex);
      sites = demands.sites;
    }
    for (uint32_t number = next.fetch_add(1); number < count; number = next.fetch_add(1)) {
      ClusterDemands mine = empty(launch);
      timing::Recorder recorder(sites, mine);
      engine.record(recorder);
      try {
        engine.walk(number, loading);
      } catch (Failure& problem) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(problem);
        return;
      }
      Signature found = signature(mine);
      const std::lock_guard lock(mutex);
      if (const auto at = kinds.find(found); at != kinds.end() && sites.loads.size() == demands.sites.loads.size()) {
        demands.kind_of[number] = at->second;
        demands.places[number] = places(mine);
        continue;
      }
      if (steals) {
        failure = Failure{Status::NotSupported, "sim: --timing: clusters cancel others whose work is of another kind"};
        return;
      }
      if (demands.kinds.size() >= MOST_KINDS) {
        failure = Failure{Status::NotSupported, "sim: --timing: more than 64 kinds of clusters in one launch"};
        return;
      }
      try {
        add_kind(number);
      } catch (Failure& problem) {
        failure = std::move(problem);
        return;
      }
      sites = demands.sites;
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(walk);
  walk();
  for (std::thread& thread : pool) thread.join();
  if (failure) throw std::move(*failure);
  return demands;
}

}  // namespace sim
