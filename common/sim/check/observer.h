// The order checker as a watcher: a cluster's events in the checker's terms (check/order/race_detector.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "check/fragments.h"
#include "check/order/launches.h"
#include "check/order/race_detector.h"
#include "exec/core/program.h"
#include "machine/cluster.h"
#include "machine/watcher.h"

namespace sim {

class Observer final : public Watcher, private order::FindingListener {
 public:
  /// `detector`: the checker of all clusters of the launch; null: each cluster has a checker of its own, which `launch`
  /// receives at the cluster's end. `reports`: findings are sent to other watchers (ReportEvent).
  Observer(Cluster& cluster, order::LaunchCheck& launch, order::RaceDetector* detector, const Fragments& fragments,
           bool reports);

  const uint8_t* steps() const override { return fragments_.steps(); }
  void on(const LifeEvent& event) override;
  void on(const StepEvent& event) override;
  void on(const LaneEvent& event) override;
  void on(const AccessEvent& event) override;
  void on(const StoreEvent& event) override;
  void on(const FenceEvent& event) override;
  void on(const SignalEvent& event) override;
  void on(const BarrierEvent& event) override;
  void on(const PhaseEvent& event) override;
  void on(const WaitEvent& event) override;
  void on(const IssueEvent& event) override;
  void on(const LandingEvent& event) override;
  void on(const CommitEvent& event) override;
  void on(const TensorEvent& event) override;
  void on(const ScheduleEvent& event) override;

 private:
  uint64_t now() const override { return acting_ != nullptr ? acting_->time : completes_at_; }
  void on_finding(const order::Finding& finding) override;

  const Ordering& ordering(uint32_t pc) const { return program_.traits[pc].ordering; }
  order::CtaKnowledge& checked(const Cta& cta) const { return *ctas_[cta.rank]; }
  order::By by(const Warp& warp, Mask lanes, uint32_t pc) const;
  order::By by(const Warp& warp, Mask lanes) const { return by(warp, lanes, warp.splits[warp.current].pc); }
  void began(Cta& cta);
  void fence(const Warp& warp, Mask lanes);
  bool is_serial() const;
  void map_used(const AccessEvent& event);
  void accessed_shared(const AccessEvent& event);
  void accessed(const AccessEvent& event, Mask lanes, order::CtaKnowledge* target, const uint64_t* address);
  void lanes_stored(const StoreEvent& event);
  std::unique_ptr<order::OperationRecord> loads(const IssueEvent& event, const order::By& who);

  Cluster& cluster_;
  order::LaunchCheck& launch_;
  order::RaceDetector* const shared_;
  std::unique_ptr<order::RaceDetector> own_;
  order::RaceDetector* detector_ = nullptr;
  const Program& program_;
  const Fragments& fragments_;
  FragmentWatch registers_;
  std::vector<order::CtaKnowledge*> ctas_;  // by rank
  // The acting warp or operation, for the time of a finding.
  const Warp* acting_ = nullptr;
  uint64_t completes_at_ = 0;
};

/// The order checker of one launch.
class OrderWatcher final : public LaunchWatcher {
 public:
  /// `reports`: findings are sent to other watchers (ReportEvent).
  OrderWatcher(order::LaunchCheck& check, const Program& program, bool reports)
      : check_(check), fragments_(program), reports_(reports) {}
  std::unique_ptr<Watcher> watch(Cluster& cluster) override;
  void in_turns() override { detector_ = check_.make_detector(); }
  void turns_are_over() override;

 private:
  order::LaunchCheck& check_;
  const Fragments fragments_;
  const bool reports_;
  std::unique_ptr<order::RaceDetector> detector_;  // of all clusters, if they alternate
};

}  // namespace sim
