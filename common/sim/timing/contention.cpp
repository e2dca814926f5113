#include "timing/contention.h"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "timing/account.h"
#include "timing/chunks.h"
#include "timing/cluster_kind.h"
#include "timing/memory_model.h"
#include "timing/ordinary_loads.h"
#include "timing/placement.h"

namespace sim::timing {
namespace {

// ---- state

constexpr int64_t kSector = kSectorBytes;  // the smallest write of ordinary stores
constexpr int64_t kAnswerBytes = 16;
constexpr uint32_t kTmemColumns = 512;  // of an SM
constexpr char kUnforeseen[] =
    "unexpected number of clusters whose work one cluster takes over (cluster launch control)";

struct TimedActor;

struct TimedMbarrier {
  int32_t count = 0, pending = 0;
  int64_t bytes = 0;
  uint32_t phase = 0;
  Tick latest = 0, done = 0;  ///< the last contribution to this phase; the end of the previous phase
  Account::Causes causes, of_done;
  std::vector<TimedActor*> waiters;
};

struct NamedBarrier {
  uint32_t arrived = 0;
  bool expects_all = false;
  Tick latest = 0, done = 0;
  Account::Tail last, of_done;  ///< the last arrival at this phase, and at the previous one
  uint32_t last_rank = 0;       ///< of the CTA that ended the previous phase
  uint32_t phase = 0;
  std::vector<TimedActor*> waiters;
};

struct TimedCluster;

struct TimedActor {
  TimedCluster* cluster = nullptr;
  const WarpClass* gang = nullptr;
  uint32_t step = 0, load = 0;
  Tick time = 0;
  Tick begun = 0;            ///< of this step, when its instructions had been issued
  uint32_t past = 0;         ///< the end of its chain in the account
  std::vector<Tick> groups;  ///< wgmma: ends of the groups committed
  uint64_t groups_committed = 0;
  Tick last_mma = 0;
  int mma_ctas = 1;  ///< that executed it
  std::vector<TimedActor*> group_waiters;
  std::vector<std::pair<Tick, Tick>> bulk;   ///< ends of groups of stores: source read, arrived
  Tick bulk_read = 0, bulk_written = 0;      ///< of the open group
  Tick transfers = 0;                        ///< of tensor memory
  bool issued = false, woken = false;        ///< this step's instructions are counted; it has waited
  std::array<uint32_t, 17> barrier_phase{};  ///< of named barriers and the cluster's: the phase of its arrival
};

struct Unit {
  Tick free = 0, busy = 0;
  Tick take(Tick now, Tick length) {
    const Tick begin = std::max(now, free);
    free = begin + length;
    busy += length;
    return begin;
  }
  /// Is not free for so long, but does nothing.
  void pause(Tick now, Tick length) { free = std::max(now, free) + length; }
};

/// The schedulers of an SM. All warps together issue for a limited number of cycles in each window.
struct Schedulers {
  std::vector<Tick> used;  ///< by window
  Tick busy = 0;
  /// Issues `work` from `now` on, at most `most` in each window. Returns when the last of it is issued.
  Tick issue(Tick now, Tick work, Tick most, Tick window) {
    busy += work;
    for (auto i = static_cast<size_t>(now / window);; ++i) {
      if (used.size() <= i) used.resize(2 * i + 1, 0);
      const Tick part = std::min({work, most, window - used[i]});
      used[i] += part;
      work -= part;
      if (work == 0) return std::max(now, static_cast<Tick>(i) * window);
    }
  }
};

struct Sm {
  SmPlace at;
  double slowness = 0;  ///< -0.5 to 0.5: relative position of its GPC's clock among all
  Unit tensor, load, store, lines, shared;
  Schedulers schedulers;
  uint32_t columns = 0;  ///< allocated columns of tensor memory
  std::vector<TimedActor*> column_waiters;
};

struct TimedCta {
  uint32_t sm = 0, live_warps = 0;
  bool multiplied = false;
  std::array<NamedBarrier, 16> named;
};

struct TimedCluster {
  uint32_t launch = 0, number = 0;
  std::vector<uint32_t> work;  ///< clusters whose work it does, in order: itself, then those granted
  const ClusterClass* kind = nullptr;
  const GridDemands* grid = nullptr;
  std::vector<TimedCta> ctas;
  std::vector<TimedMbarrier> barriers;
  NamedBarrier barrier;  ///< of the cluster; counts lanes
  std::vector<std::unique_ptr<TimedActor>> actors;
  uint32_t live_actors = 0, live_lanes = 0;
  Tick begin = 0, end = 0;
  Account::Tail freed_by, last;  ///< the exit that made room for it; its own
  bool lets_start = false;
  ClusterLog* log = nullptr;
};

using Told = ClusterLog::Told;

// ---- contention

class Contention {
 public:
  Contention(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& constants, const ModelClock& clock,
             ContentionLog* log)
      : launches_(launches),
        c_(constants),
        clock_(clock),
        log_(log),
        placement_(gpu),
        chunks_(launches),
        memory_(c_, chunks_.all(), placement_.half_of_gpc, clock.ghz),
        account_(placement_.sms.size()) {
    if (log_ != nullptr) log_->start();
    for (const SmPlace& place : placement_.sms) {
      Sm& sm = sms_.emplace_back();
      sm.at = place;
      sm.slowness = static_cast<double>(place.gpc * 3 % 8) / 7 - 0.5;
    }
    taken_.assign(sms_.size(), 0);
    for (const GridDemands& launch : launches_) {
      auto& kinds = kinds_.emplace_back();
      for (const ClusterDemands& kind : launch.kinds) kinds.push_back(prepare(kind, launch.forms));
      ended_.push_back(0);
      started_.push_back(0);
      let_start_.push_back(0);
      ends_.push_back(0);
    }
  }

  PredictedTimes run() {
    start_what_fits(0);
    while (!queue_.empty()) {
      const Event event = queue_.top();
      queue_.pop();
      advance(*event.actor);
      for (TimedCluster* cluster : std::exchange(retired_, {})) clusters_.erase(cluster);
    }
    for (size_t i = 0; i < launches_.size(); ++i) {
      if (ended_[i] != launches_[i].kind_of.size())
        throw std::runtime_error("in the timing model, clusters wait for one another for ever");
    }
    PredictedTimes result;
    const Tick end = *std::max_element(ends_.begin(), ends_.end());
    result.activity.cycles = (end + kCycle - 1) / kCycle;
    result.activity.flops = flops_;
    result.activity.l2_bytes = memory_.l2_bytes();
    result.activity.sm_bytes = sm_bytes_;
    result.link_bytes = memory_.link_bytes();
    result.dram_read = memory_.dram_read();
    result.dram_written = memory_.dram_written();
    result.activity.dram_bytes = result.dram_read + result.dram_written;
    Tick tensor = 0, issue = 0, shared = 0, lines = 0;
    for (const Sm& sm : sms_) {
      tensor += sm.tensor.busy, issue += sm.schedulers.busy;
      shared += sm.shared.busy, lines += sm.lines.busy;
    }
    const auto share = [&](Tick busy, size_t units) {
      return static_cast<double>(busy) / static_cast<double>(end) / static_cast<double>(units);
    };
    result.tensor_share = share(tensor, sms_.size());
    result.issue_share = share(issue, sms_.size());
    result.shared_share = share(shared, sms_.size());
    result.lines_share = share(lines, sms_.size());
    result.l2_share = share(memory_.l2_busy(), 1);
    result.link_share = share(memory_.link_busy(), 1);
    result.dram_share = share(memory_.dram_busy(), 1);
    result.cluster_cycles = longest_ / kCycle;
    result.account = account_.finish(end);
    return result;
  }

 private:
  struct Event {
    Tick time;
    uint64_t number;
    TimedActor* actor;
    bool operator<(const Event& other) const { return std::tie(time, number) > std::tie(other.time, other.number); }
  };

  // ---- clusters

  bool may_start(size_t launch) const {
    if (launch == 0) return true;
    if (!launches_[launch].overlaps) return ended_[launch - 1] == launches_[launch - 1].kind_of.size();
    return started_[launch - 1] == launches_[launch - 1].kind_of.size() &&
           let_start_[launch - 1] == launches_[launch - 1].kind_of.size();
  }

  void start_what_fits(Tick now, const Account::Tail& freed_by = {}) {
    for (size_t launch = 0; launch < launches_.size(); ++launch) {
      const GridDemands& grid = launches_[launch];
      if (started_[launch] == grid.kind_of.size()) continue;
      if (!may_start(launch)) return;
      while (started_[launch] < grid.kind_of.size() && running_in(launch) < grid.resident) {
        std::vector<uint32_t> sms = find_sms(grid);
        if (sms.empty()) return;
        start(launch, started_[launch]++, std::move(sms), now, freed_by);
      }
      if (started_[launch] < grid.kind_of.size()) return;
    }
  }
  uint64_t running_in(size_t launch) const { return started_[launch] - ended_[launch]; }

  static constexpr uint32_t kWhole = 5040;  ///< an SM's room; 1 to 10 CTAs divide it
  /// SMs of one group with room for a cluster's CTAs; empty: no group has room.
  std::vector<uint32_t> find_sms(const GridDemands& grid) const {
    const uint32_t need = kWhole / grid.ctas_per_sm;
    if (grid.cluster_size == 1) {
      const auto emptiest = std::min_element(placement_.by_group.begin(), placement_.by_group.end(),
                                             [&](uint32_t a, uint32_t b) { return taken_[a] < taken_[b]; });
      return kWhole - taken_[*emptiest] < need ? std::vector<uint32_t>() : std::vector<uint32_t>{*emptiest};
    }
    std::vector<std::vector<uint32_t>> by_group(placement_.groups);
    for (uint32_t sm = 0; sm < sms_.size(); ++sm) {
      for (uint32_t room = kWhole - taken_[sm]; room >= need; room -= need) {
        auto& found = by_group[sms_[sm].at.group];
        found.push_back(sm);
        if (found.size() == grid.cluster_size) return found;
        break;
      }
    }
    return {};
  }

  void start(size_t launch, uint32_t number, std::vector<uint32_t> sms, Tick now, const Account::Tail& freed_by) {
    const GridDemands& grid = launches_[launch];
    auto owner = std::make_unique<TimedCluster>();
    TimedCluster& cluster = *owner;
    clusters_[&cluster] = std::move(owner);
    cluster.launch = static_cast<uint32_t>(launch), cluster.number = number;
    cluster.grid = &grid;
    // A cluster that may be granted more work is of the last kind until a request is refused.
    const size_t index = grid.grants.empty() ? grid.kind_of[number] : kinds_[launch].size() - 1;
    const ClusterClass& kind = kinds_[launch][index];
    cluster.kind = &kind;
    cluster.work = {number};
    cluster.begin = now;
    cluster.freed_by = freed_by;
    if (log_ != nullptr) cluster.log = log_->follow(cluster.launch, number);
    if (cluster.log != nullptr) {
      cluster.log->begin = now;
      note_kind(cluster, index);
    }
    cluster.ctas.resize(grid.cluster_size);
    cluster.barriers.resize(kind.barriers);
    for (uint32_t rank = 0; rank < grid.cluster_size; ++rank) {
      cluster.ctas[rank].sm = sms[rank];
      cluster.ctas[rank].live_warps = kind.warps[rank];
      cluster.live_lanes += 32 * kind.warps[rank];
      taken_[sms[rank]] += kWhole / grid.ctas_per_sm;
    }
    cluster.live_actors = static_cast<uint32_t>(kind.gangs.size());
    for (const WarpClass& gang : kind.gangs) {
      auto& actor = cluster.actors.emplace_back(std::make_unique<TimedActor>());
      actor->cluster = &cluster;
      actor->gang = &gang;
      actor->time = now;
      actor->past = Account::start(cluster.ctas[gang.rank].sm);
      push(*actor);
    }
  }

  void exit(TimedActor& actor) {
    TimedCluster& cluster = *actor.cluster;
    TimedCta& cta = cluster.ctas[actor.gang->rank];
    cta.live_warps -= actor.gang->warps;
    cluster.live_lanes -= 32 * actor.gang->warps;
    cluster.end = std::max(cluster.end, actor.time);
    if (actor.time >= cluster.last.time) cluster.last = {actor.time, actor.past};
    for (NamedBarrier& barrier : cta.named) {
      if (barrier.arrived > 0 && barrier.expects_all && barrier.arrived >= cta.live_warps)
        release(barrier, ticks(c_.cta_barrier));
    }
    if (cluster.barrier.arrived > 0 && cluster.barrier.arrived >= cluster.live_lanes)
      release(cluster.barrier, ticks(c_.cluster_barrier));
    if (--cluster.live_actors > 0) return;
    const size_t launch = cluster.launch;
    if (!std::exchange(cluster.lets_start, true)) ++let_start_[launch];
    ++ended_[launch];
    ends_[launch] = std::max(ends_[launch], cluster.end);
    longest_ = std::max(longest_, cluster.end - cluster.begin);
    const Tick end = cluster.end;
    for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) {
      const uint32_t sm = cluster.ctas[rank].sm;
      taken_[sm] -= kWhole / cluster.grid->ctas_per_sm;
      account_.leave(sm, end);
      if (log_ != nullptr) log_->note_residence(cluster.launch, sm, cluster.number, rank, cluster.begin, end);
    }
    if (ended_[launch] == launches_[launch].kind_of.size()) {
      for (TimedActor* waiter : std::exchange(launch_waiters_, {})) wake(*waiter, end);
    }
    retired_.push_back(&cluster);
    start_what_fits(end + ticks(c_.cta_start), cluster.last);
  }

  // ---- time

  void push(TimedActor& actor) { queue_.push({actor.time, number_++, &actor}); }
  void wake(TimedActor& actor, Tick time) {
    actor.time = std::max(actor.time, time);
    push(actor);
  }

  void release(NamedBarrier& barrier, Tick latency) {
    barrier.arrived = 0;
    ++barrier.phase;
    barrier.done = barrier.latest + latency;
    barrier.of_done = barrier.last;
    for (TimedActor* waiter : std::exchange(barrier.waiters, {})) wake(*waiter, barrier.done);
  }

  static void arrive(NamedBarrier& barrier, const TimedActor& actor) {
    barrier.latest = std::max(barrier.latest, actor.time);
    if (actor.time < barrier.last.time) return;
    barrier.last = {actor.time, actor.past};
    barrier.last_rank = actor.gang->rank;
  }

  static TimedMbarrier& barrier_at(TimedCluster& cluster, uint32_t rank, uint32_t slot) {
    return cluster.barriers[cluster.kind->numbers[rank * cluster.kind->slots + slot]];
  }

  void contribute(TimedMbarrier& barrier, int32_t arrivals, int64_t expected, const Account::Tail& cause,
                  bool is_peer) {
    barrier.pending -= arrivals;
    barrier.bytes += expected;
    barrier.latest = std::max(barrier.latest, cause.time);
    barrier.causes.add(cause, is_peer);
    if (barrier.pending > 0 || barrier.bytes != 0) return;
    barrier.pending += barrier.count;
    ++barrier.phase;
    barrier.done = barrier.latest;
    barrier.of_done = std::exchange(barrier.causes, {});
    for (TimedActor* waiter : std::exchange(barrier.waiters, {})) wake(*waiter, barrier.done + ticks(c_.mbarrier_wait));
  }

  // ---- one actor

  void advance(TimedActor& actor) {
    for (;;) {
      const DemandStep& step = (*actor.gang->steps)[actor.step];
      if (!std::exchange(actor.issued, true)) {
        const Tick before = actor.time;
        issue(actor, step.issued);
        account_.note(&actor.past, Account::Doing::Runs, before, actor.time);
        actor.begun = actor.time;
      }
      // Shared units serve in the order of time: a warp that is ahead of others lets them go first.
      if (is_shared(step.what) && !queue_.empty() && actor.time > queue_.top().time) return push(actor);
      ClusterLog* const log = actor.cluster->log;  // the cluster may be gone after perform()
      const uint32_t gang = gang_of(actor);
      if (!perform(actor, step)) return;
      account(actor, step);  // an exited warp's time has not changed
      if (log != nullptr) log->passed.push_back({gang, actor.step, actor.begun, actor.time, actor.woken});
      if (step.what == DemandStep::What::Exit) return;
      actor.issued = actor.woken = false;
      ++actor.step;
    }
  }

  /// Notes what the actor has done since the step began.
  void account(TimedActor& actor, const DemandStep& step) {
    using What = DemandStep::What;
    using Doing = Account::Doing;
    if (actor.time <= actor.begun) return;
    const auto note = [&](Doing doing, Tick conflicts = 0) {
      account_.note(&actor.past, doing, actor.begun, actor.time, conflicts);
    };
    switch (step.what) {
      case What::Wait:
        return account_.note_wait(&actor.past, actor.begun, actor.time,
                                  barrier_at(*actor.cluster, step.rank, step.slot).of_done);
      case What::BarrierWait: return note_wait(actor, actor.cluster->ctas[actor.gang->rank].named[step.slot]);
      case What::ClusterWait: return note_wait(actor, actor.cluster->barrier);
      case What::TmemLoad:
      case What::TmemWait: return note(Doing::Reads);
      case What::Shared: return note(Doing::Shared, (actor.time - actor.begun) * step.conflicts / step.value);
      case What::Store:
      case What::BulkCommit:
      case What::BulkWait:
      case What::GlobalStore: return note(Doing::Stores);
      case What::GlobalLoad:
      case What::CachedLoad: return note(Doing::OrdinaryLoad);
      default: return note(Doing::Runs);
    }
  }
  void note_wait(TimedActor& actor, const NamedBarrier& barrier) {
    Account::Causes causes;
    causes.add({actor.begun, actor.past}, false);
    causes.add(barrier.of_done, barrier.last_rank != actor.gang->rank);
    account_.note_wait(&actor.past, actor.begun, actor.time, causes);
  }

  // ---- for a trace

  static void note_kind(const TimedCluster& cluster, size_t index) {
    cluster.log->kind = static_cast<uint32_t>(index);
    cluster.log->gangs.clear();
    for (const WarpClass& gang : cluster.kind->gangs) cluster.log->gangs.push_back({gang.rank, gang.members});
  }
  static uint32_t gang_of(const TimedActor& actor) {
    return static_cast<uint32_t>(actor.gang - actor.cluster->kind->gangs.data());
  }
  void note(const TimedActor& actor, Told::Effect effect, const BarrierName& barrier, int64_t amount, uint32_t phase,
            int32_t needed, Tick time, uint32_t work = Told::kNoWork) {
    if (ClusterLog* const log = actor.cluster->log)
      log->told.push_back({effect, barrier, gang_of(actor), actor.step, work, amount, phase, needed, time});
  }
  void note(const TimedActor& actor, Told::Effect effect, uint32_t rank, uint32_t slot, int64_t amount, Tick time,
            uint32_t work = Told::kNoWork) {
    if (actor.cluster->log == nullptr) return;
    const TimedMbarrier& barrier = barrier_at(*actor.cluster, rank, slot);
    note(actor, effect, {BarrierName::Kind::Mbarrier, rank, 8 * slot}, amount, barrier.phase, barrier.count, time,
         work);
  }
  /// Returns the index of the work.
  uint32_t note_work(const TimedActor& actor, Tick begin, Tick end, Tick seen) {
    ClusterLog* const log = actor.cluster->log;
    if (log == nullptr) return Told::kNoWork;
    log->works.push_back({gang_of(actor), actor.step, actor.time, begin, end, seen});
    return static_cast<uint32_t>(log->works.size() - 1);
  }

  /// Whether the order of warps matters for this step. It does not for arrivals at barriers, which carry their time.
  static bool is_shared(DemandStep::What what) {
    using What = DemandStep::What;
    return what == What::Load || what == What::Store || what == What::Mma || what == What::Commit ||
           what == What::Shared || what == What::GlobalStore || what == What::GlobalLoad || what == What::CachedLoad ||
           what == What::Ask || what == What::GridDepLaunch || what == What::TmemAlloc || what == What::TmemDealloc ||
           what == What::GridDepWait || what == What::Exit;
  }
  /// Issues the instructions since the previous step: at the warp's own rate, limited by the SM's schedulers, which all
  /// its warps share.
  void issue(TimedActor& actor, uint32_t count) {
    const Tick window = ticks(c_.issue_window), one = ticks(1 / c_.issue_per_cycle) * actor.gang->warps;
    const Tick most = std::max(static_cast<Tick>(c_.issue_window / c_.instruction) * one, Tick{1});
    Schedulers& schedulers = sms_[actor.cluster->ctas[actor.gang->rank].sm].schedulers;
    actor.time =
        std::max(actor.time + ticks(c_.instruction) * count, schedulers.issue(actor.time, one * count, most, window));
  }

  /// Performs a step. False: the actor waits, and performs the step again when it is woken.
  bool perform(TimedActor& actor, const DemandStep& step) {
    using What = DemandStep::What;
    TimedCluster& cluster = *actor.cluster;
    const WarpClass& gang = *actor.gang;
    TimedCta& cta = cluster.ctas[gang.rank];
    Sm& sm = sms_[cta.sm];
    const auto wait = [&](std::vector<TimedActor*>& where) {
      actor.woken = true;
      where.push_back(&actor);
      return false;
    };
    const auto go_on_at = [&](Tick time) {
      actor.time = std::max(actor.time, time);
      return true;
    };
    switch (step.what) {
      case What::Init: {
        TimedMbarrier& barrier = barrier_at(cluster, step.rank, step.slot);
        barrier = {};
        barrier.count = barrier.pending = static_cast<int32_t>(step.value);
        note(actor, Told::Effect::Init, step.rank, step.slot, step.value, actor.time);
        return true;
      }
      case What::Wait: {
        TimedMbarrier& barrier = barrier_at(cluster, step.rank, step.slot);
        if ((barrier.phase & 1) == step.value) return wait(barrier.waiters);
        return actor.woken ? true : go_on_at(std::max(barrier.done, actor.time) + ticks(c_.mbarrier_wait) / 2);
      }
      case What::Arrive: {
        const bool remote = step.rank != gang.rank;
        const Tick arrives = actor.time + (remote ? ticks(c_.remote_arrive) : 0);
        note(actor, Told::Effect::Arrive, step.rank, step.slot, step.value, arrives);
        contribute(barrier_at(cluster, step.rank, step.slot), static_cast<int32_t>(step.value * gang.warps), 0,
                   {arrives, actor.past, true}, remote);
        actor.time += ticks(c_.mbarrier_arrive);
        return true;
      }
      case What::Expect: {
        // The arrival is a separate, later step: no phase can complete here.
        note(actor, Told::Effect::Expect, step.rank, step.slot, step.value, actor.time);
        barrier_at(cluster, step.rank, step.slot).bytes += int64_t{step.value} * gang.warps;
        return true;
      }
      case What::Load: load(actor, cluster.grid->forms.loads[step.value], step.value); return true;
      case What::Store: {
        const StoreForm& form = cluster.grid->forms.stores[step.value];
        const int64_t bytes = form.bytes();
        const Tick length = ticks(static_cast<double>(bytes) / c_.store_bytes_per_cycle);
        const Tick begin = sm.store.take(actor.time, length);
        const Tick out = memory_.write(bytes, bytes, sm.at.gpc, begin);
        actor.bulk_read = std::max({actor.bulk_read, begin + length + ticks(c_.store_latency), out});
        actor.bulk_written = std::max(actor.bulk_written, actor.bulk_read + ticks(23));
        note_work(actor, begin, begin + length, actor.bulk_read);
        actor.time += ticks(c_.tma_issue);
        return true;
      }
      case What::BulkCommit:
        actor.bulk.emplace_back(actor.bulk_read, actor.bulk_written);
        actor.bulk_read = actor.bulk_written = 0;
        return true;
      case What::BulkWait: {
        Tick done = 0;
        for (size_t i = 0; i + step.value < actor.bulk.size(); ++i)
          done = std::max(done, step.slot != 0 ? actor.bulk[i].first : actor.bulk[i].second);
        if (actor.bulk.size() > 16) actor.bulk.erase(actor.bulk.begin(), actor.bulk.end() - 8);
        return go_on_at(done);
      }
      case What::Mma: mma(actor, cluster.grid->forms.mmas[step.value], step.rank); return true;
      case What::Commit: {
        if (!gang.leads) {
          ++actor.groups_committed;
          return true;
        }
        sm.tensor.pause(actor.time, ticks(c_.mma_group));
        actor.groups.push_back(actor.last_mma);
        ++actor.groups_committed;
        for (TimedActor* waiter : std::exchange(actor.group_waiters, {})) wake(*waiter, actor.time);
        return true;
      }
      case What::GroupWait: {
        if (actor.groups_committed <= step.value) return true;
        TimedActor& leader = *cluster.actors[gang.leader];
        const uint64_t group = actor.groups_committed - 1 - step.value;
        if (group >= leader.groups.size()) return wait(leader.group_waiters);
        return go_on_at(leader.groups[group]);
      }
      case What::MmaArrive: {
        const Tick done = std::max(actor.time, actor.last_mma);
        for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) {
          if (!(step.value >> rank & 1)) continue;
          const Tick arrives = done + (rank != gang.rank ? ticks(c_.remote_arrive) : 0);
          const uint32_t work = note_work(actor, done, arrives, arrives);
          note(actor, Told::Effect::Arrive, rank, step.slot, 1, arrives, work);
          // What a pair multiplies is as much its own as the leader's.
          contribute(barrier_at(cluster, rank, step.slot), 1, 0, {arrives, actor.past},
                     rank != gang.rank && actor.mma_ctas == 1);
        }
        return true;
      }
      case What::TmemAlloc:
        if (sm.columns + step.value > kTmemColumns) return wait(sm.column_waiters);
        sm.columns += step.value;
        return true;
      case What::TmemDealloc:
        sm.columns -= step.value;
        for (TimedActor* waiter : std::exchange(sm.column_waiters, {})) {
          waiter->cluster->freed_by = {actor.time, actor.past};
          wake(*waiter, actor.time);
        }
        return true;
      case What::TmemLoad: {
        const Tick length = ticks(static_cast<double>(step.value) / c_.tmem_bytes_per_cycle);
        actor.transfers = std::max(actor.transfers, actor.time + ticks(c_.tmem_latency)) + length;
        note_work(actor, actor.transfers - length, actor.transfers, actor.transfers);
        return true;
      }
      case What::TmemWait: return go_on_at(actor.transfers);
      case What::BarrierArrive: {
        NamedBarrier& barrier = cta.named[step.slot];
        note(actor, Told::Effect::Arrive, {BarrierName::Kind::Named, gang.rank, step.slot}, 32, barrier.phase,
             static_cast<int32_t>(32 * (step.value != 0 ? step.value : cta.live_warps)), actor.time);
        barrier.arrived += gang.warps;
        arrive(barrier, actor);
        actor.barrier_phase[step.slot] = barrier.phase;
        barrier.expects_all = step.value == 0;
        if (barrier.arrived >= (step.value != 0 ? step.value : cta.live_warps)) release(barrier, ticks(c_.cta_barrier));
        return true;
      }
      case What::BarrierWait: {
        NamedBarrier& barrier = cta.named[step.slot];
        if (barrier.phase == actor.barrier_phase[step.slot]) return wait(barrier.waiters);
        return go_on_at(barrier.done);
      }
      case What::ClusterArrive: {
        NamedBarrier& barrier = cluster.barrier;
        note(actor, Told::Effect::Arrive, {BarrierName::Kind::Cluster, 0, 0}, step.value, barrier.phase,
             static_cast<int32_t>(cluster.live_lanes), actor.time);
        barrier.arrived += step.value * gang.warps;
        arrive(barrier, actor);
        actor.barrier_phase[16] = barrier.phase;
        if (barrier.arrived >= cluster.live_lanes) release(barrier, ticks(c_.cluster_barrier));
        return true;
      }
      case What::ClusterWait: {
        NamedBarrier& barrier = cluster.barrier;
        if (barrier.phase == actor.barrier_phase[16]) return wait(barrier.waiters);
        return go_on_at(barrier.done);
      }
      case What::Shared: {
        const Tick length = ticks(c_.shared_wavefront) * step.value * gang.warps;
        return go_on_at(sm.shared.take(actor.time, length) + length);
      }
      case What::GlobalStore: {
        const Tick length = ticks(c_.store_line) * step.value * gang.warps;
        const Tick begin = sm.lines.take(actor.time, length);
        const Tick out =
            memory_.write(int64_t{step.value} * gang.warps * step.slot,
                          int64_t{step.value} * gang.warps * std::max<int64_t>(step.slot, kSector), sm.at.gpc, begin);
        return go_on_at(std::max(begin + length, out));
      }
      case What::GlobalLoad: {
        const Tick length = ticks(c_.store_line) * step.value * gang.warps;  // at the rate of stored lines
        const Tick begin = sm.lines.take(actor.time, length);
        if (cluster.grid->only_last_loads) return go_on_at(begin + length + ticks(c_.global_latency));
        const Tick out = memory_.read_ordinary(int64_t{step.value} * gang.warps * step.slot, cluster.grid->from_dram,
                                               sm.at.gpc, begin);
        return go_on_at(std::max(begin + length, out) + ticks(c_.global_latency));
      }
      case What::CachedLoad: {
        const Tick length = ticks(c_.shared_wavefront) * step.value * gang.warps;
        return go_on_at(sm.shared.take(actor.time, length) + length + ticks(c_.l1_latency));
      }
      case What::Fence: return true;
      case What::Ask: ask(actor, step); return true;
      case What::GridDepLaunch:
        if (!std::exchange(cluster.lets_start, true)) {
          ++let_start_[cluster.launch];
          start_what_fits(actor.time);
        }
        return true;
      case What::GridDepWait: {
        if (cluster.launch == 0 || ended_[cluster.launch - 1] == launches_[cluster.launch - 1].kind_of.size())
          return true;
        return wait(launch_waiters_);
      }
      case What::Exit: exit(actor); return true;
    }
    return true;
  }

  /// The first chunk of the actor's next load. The coordinates are those of the cluster whose work it does.
  uint32_t next_chunk(TimedActor& actor) {
    const TimedCluster& cluster = *actor.cluster;
    const WarpClass& own =
        cluster.grid->grants.empty() ? *actor.gang : kinds_[cluster.launch].front().gangs[gang_of(actor)];
    const uint32_t load = actor.load++;
    return chunks_.first(cluster.launch, cluster.work.at(load / own.loads), own.first_place + load % own.loads);
  }

  void ask(TimedActor& actor, const DemandStep& step) {
    TimedCluster& cluster = *actor.cluster;
    const GridDemands& grid = *cluster.grid;
    if (started_[cluster.launch] < grid.kind_of.size()) {
      cluster.work.push_back(static_cast<uint32_t>(started_[cluster.launch]++));
      ++ended_[cluster.launch];
      if (cluster.work.size() - 1 > grid.grants.back()) throw std::runtime_error(kUnforeseen);
    } else {
      become(cluster, std::find(grid.grants.begin(), grid.grants.end(), cluster.work.size() - 1));
    }
    const Tick answered = actor.time + ticks(c_.global_latency);
    for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) {
      if (step.value >> rank & 1)
        contribute(barrier_at(cluster, rank, step.slot), 0, -kAnswerBytes, {answered, actor.past}, false);
    }
    actor.time += ticks(c_.tma_issue);
  }

  /// Continues as a cluster of the kind that was granted this number and then refused. Up to the refusal both kinds
  /// have the same steps.
  void become(TimedCluster& cluster, std::vector<uint32_t>::const_iterator grants) {
    const GridDemands& grid = *cluster.grid;
    if (grants == grid.grants.end()) throw std::runtime_error(kUnforeseen);
    const auto index = static_cast<size_t>(grants - grid.grants.begin());
    const ClusterClass& kind = kinds_[cluster.launch][index];
    for (const auto& actor : cluster.actors) {
      const WarpClass& gang = kind.gangs.at(gang_of(*actor));
      if ((*gang.steps).at(actor->step) != (*actor->gang->steps)[actor->step]) throw std::runtime_error(kUnforeseen);
      actor->gang = &gang;
    }
    cluster.kind = &kind;
    if (cluster.log != nullptr) note_kind(cluster, index);
  }

  void load(TimedActor& actor, const LoadForm& form, uint32_t index) {
    TimedCluster& cluster = *actor.cluster;
    Sm& sm = sms_[cluster.ctas[actor.gang->rank].sm];
    const uint32_t first = next_chunk(actor);
    const uint32_t count = chunks_.count(cluster.launch, index);
    const Tick length = ticks(c_.tma_row) * form.rows * std::max(form.row_bytes, 128u) / 128;
    const Tick begin = sm.load.take(actor.time, length);
    Tick arrives = 0;
    Queued queued;
    for (uint32_t i = 0; i < count; ++i) {
      const MemoryModel::Asked asked{begin + length * i / count, begin + length * (i + 1) / count};
      const Tick there = memory_.read(first + i, sm.at.gpc, sm.at.tpc, asked, form.to.size() > 1);
      if (there > arrives) arrives = there, queued = memory_.queued();
    }
    queued.tma = Queued::cycles(begin - actor.time);
    const Account::Tail cause = account_.load(actor.past, actor.time, arrives, queued);
    if (log_ != nullptr) log_->note_queues(memory_, begin);
    const uint32_t work = note_work(actor, begin, begin + length, arrives);
    for (const auto& [rank, barrier_rank] : form.to) {
      sm_bytes_ += form.bytes();
      note(actor, Told::Effect::Complete, barrier_rank, form.slot, form.bytes(), arrives, work);
      contribute(barrier_at(cluster, barrier_rank, form.slot), 0, -int64_t{form.bytes()}, cause,
                 barrier_rank != actor.gang->rank);
    }
    actor.time += ticks(c_.tma_issue);
  }

  void mma(TimedActor& actor, const MmaForm& form, uint32_t leader) {
    if (form.warpgroup && !actor.gang->leads) return;
    const double flops = 2.0 * form.m * form.n * form.k;
    flops_ += flops;
    TimedCluster& cluster = *actor.cluster;
    Sm& sm = sms_[cluster.ctas[leader].sm];
    const int rows = form.m / form.ctas < 128 && !form.warpgroup ? 128 : form.m / form.ctas;
    double cycles = 2.0 * rows * std::max<double>(form.n, c_.mma_min_columns) * form.k / c_.mma_flops_per_cycle;
    if (!form.warpgroup) {
      const int from_a = form.a_in_registers ? 0 : rows;
      cycles = std::max(cycles, (from_a + form.n / form.ctas) * form.k * 2 / c_.mma_bytes_per_cycle);
    }
    const double slow = 1 + clock_.spread * sm.slowness;
    const Tick length = ticks(cycles * slow), work = ticks(flops / form.ctas / c_.mma_flops_per_cycle * slow);
    const bool idle = sm.tensor.free < actor.time;
    const Tick begin = sm.tensor.take(actor.time + (idle ? ticks(c_.mma_restart) : 0), length);
    std::vector<std::pair<Part, Tick>> rests;
    Shares before;
    if (cluster.log != nullptr) before = account_.shares();
    for (int i = 0; i < form.ctas; ++i) {
      TimedCta& cta = cluster.ctas[leader ^ static_cast<uint32_t>(i)];
      if (i > 0) sms_[cta.sm].tensor.busy += length;
      const bool is_first = !std::exchange(cta.multiplied, true);
      account_.multiply(cta.sm, actor.past, actor.time, begin, begin + length, std::min(work, length),
                        is_first ? &cluster.freed_by : nullptr);
      if (i == 0 && cluster.log != nullptr) rests = account_.shares().rests_since(before);
    }
    actor.mma_ctas = form.ctas;
    actor.last_mma = begin + length + ticks(form.ctas > 1 ? c_.mma_pair_latency : c_.mma_latency);
    const uint32_t work_number = note_work(actor, begin, begin + length, actor.last_mma);
    if (cluster.log != nullptr) cluster.log->works[work_number].rests = std::move(rests);
  }

  std::span<const GridDemands> launches_;
  const Constants& c_;
  const ModelClock clock_;
  ContentionLog* const log_;
  const SmPlacement placement_;
  const Chunks chunks_;
  MemoryModel memory_;
  Account account_;
  std::vector<Sm> sms_;
  std::vector<uint32_t> taken_;  ///< by SM: occupied room
  std::vector<std::vector<ClusterClass>> kinds_;
  std::vector<uint64_t> started_, ended_, let_start_;
  std::vector<Tick> ends_;
  std::map<TimedCluster*, std::unique_ptr<TimedCluster>> clusters_;
  std::vector<TimedCluster*> retired_;
  std::priority_queue<Event> queue_;
  uint64_t number_ = 0;
  std::vector<TimedActor*> launch_waiters_;
  double flops_ = 0;
  int64_t sm_bytes_ = 0;
  Tick longest_ = 0;
};

}  // namespace

PredictedTimes contend(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& constants,
                       const ModelClock& clock, ContentionLog* log) {
  return Contention(launches, gpu, constants, clock, log).run();
}

}  // namespace sim::timing
