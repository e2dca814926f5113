// A watcher of one's own (machine/watcher.h): a file, and a line that hands it to the device.
#include "machine/watcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>

#include "support.h"

namespace sim::test {
namespace {

/// Counts the fences of threads in all clusters.
class FenceCounter final : public LaunchWatcher {
 public:
  std::unique_ptr<Watcher> watch(Cluster&) override { return std::make_unique<OfEngine>(*this); }
  std::atomic<int> fences = 0;

 private:
  class OfEngine final : public Watcher {
   public:
    explicit OfEngine(FenceCounter& launch) : Watcher({EventKind::Fence}), launch_(launch) {}
    void on(const FenceEvent& event) override { launch_.fences += std::popcount(event.lanes); }

   private:
    FenceCounter& launch_;
  };
};

constexpr const char* kBody = R"(
  setp.eq.u32 %p0, %r60, 0;
  fence.acq_rel.gpu;
  @%p0 fence.sc.sys;
  @%p0 fence.proxy.async;
  membar.cta;
  bar.sync 0;
  st.global.u32 [%rd0], %r60;
)";

int fences_of(const Options& options) {
  Bench bench(options);
  FenceCounter counter;
  bench.device().watch(counter);
  const uint32_t* const out = bench.allocate<uint32_t>(1);
  const Source kernel{.body = "ld.param.u64 %rd0, [p0];" + std::string(kBody), .parameters = ".param .u64 p0"};
  const LaunchConfig config{.grid = {3, 1, 1}, .block = {64, 1, 1}};
  EXPECT_EQ(bench.launch(kernel, config, out).status, Status::Success);
  return counter.fences;
}

TEST(Watcher, CountsTheFencesOfAllClusters) {
  // Two by each of the 192 threads, two more by the first of the grid.
  for (const Options& options : all_schedules()) EXPECT_EQ(fences_of(options), 2 * 192 + 2);
}

TEST(Watcher, WatchesBesideTheOthers) {
  Options checked;
  checked.check = Options::Check::On;
  EXPECT_EQ(fences_of(checked), 2 * 192 + 2);
}

TEST(Watcher, IsToldOfNothingThatItDoesNotWant) {
  struct Deaf final : Watcher {
    Deaf() : Watcher({}) {}
    void on(const FenceEvent&) override { ADD_FAILURE(); }
  } deaf;
  Watchers watchers;
  watchers.add(deaf);
  EXPECT_FALSE(watchers.want(EventKind::Fence));
  EXPECT_EQ(watchers.steps(), nullptr);
}

}  // namespace
}  // namespace sim::test
