#include "timeline.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cycles {
namespace {

constexpr int64_t WINDOW = 1 << 20;
constexpr int STAGE_CYCLES = 600, STAGES = 32, TILES = 2, PRODUCT_CYCLES = 50'000;

/// Two SMs at 2 GHz whose clocks began at different moments; on the second everything happens 300 cycles later. Three
/// products of a CTA per SM, each two tiles of 16 stages.
struct Machine {
  std::vector<Event> begins, tiles;
  std::vector<uint32_t> stages;
  Recorder recorder;

  Machine() {
    recorder.window = WINDOW, recorder.stage_mask = WINDOW / Recorder::STAGE_STEP - 1;
    begins.resize(2 * recorder.event_slots()), tiles = begins, stages.resize(2 * recorder.stage_slots());
    recorder.begins = begins.data(), recorder.tiles = tiles.data(), recorder.stages = stages.data();
    for (int sm = 0; sm < 2; ++sm) {
      for (int product = 0; product < 3; ++product) {
        const int64_t begin = int64_t{0xFFFF'F000} + product * PRODUCT_CYCLES + 300 * sm, clock = begin + 777 * sm;
        // The low halves of both clocks are about to wrap around.
        note(recorder.begins, sm, {clock, static_cast<uint32_t>(0x8000'0000u + begin / 2), static_cast<uint32_t>(sm)});
        for (int i = 0; i < STAGES; ++i) stage(sm, clock + 400 + STAGE_CYCLES * i);
        for (int tile = 1; tile <= TILES; ++tile) {  // one warpgroup, then the other
          const int64_t end = clock + 1'000 + tile * STAGES / TILES * STAGE_CYCLES;
          note(recorder.tiles, sm, {end, 0, 0}), note(recorder.tiles, sm, {end + 500, 0, 0});
        }
      }
    }
  }
  void note(Event* table, int sm, const Event& event) {
    const auto slots = static_cast<int64_t>(recorder.event_slots());
    table[sm * slots + event.cycle / Recorder::EVENT_STEP % slots] = event;
  }
  void stage(int sm, int64_t cycle) {
    const auto slots = static_cast<int64_t>(recorder.stage_slots());
    recorder.stages[sm * slots + cycle / Recorder::STAGE_STEP % slots] = static_cast<uint32_t>(cycle);
  }
};

TEST(Timeline, TellsWhatHappened) {
  const Machine machine;
  const Timeline t = read_timeline(machine.recorder, 2, 3);
  EXPECT_EQ(t.ctas, 2);
  EXPECT_EQ(t.stages, STAGES);
  EXPECT_NEAR(t.mhz, 2000, 0.1);
  EXPECT_NEAR(t.period_ns, PRODUCT_CYCLES / 2, 1);
  EXPECT_EQ(t.busy_cycles, 1'000 + STAGES * STAGE_CYCLES);
  EXPECT_EQ(t.first_stage.median, 400);
  EXPECT_EQ(t.stage.median, STAGE_CYCLES);
  EXPECT_EQ(t.tile.median, STAGES / TILES * STAGE_CYCLES);
  EXPECT_NEAR(t.spread_stages.median, 300.0 / STAGE_CYCLES, 0.01);
}

TEST(Timeline, RefusesWhatCannotBe) {
  const Machine machine;
  EXPECT_THROW(read_timeline(machine.recorder, 2, 4), std::runtime_error);  // 6 beginnings
  EXPECT_THROW(read_timeline(machine.recorder, 2, 1), std::runtime_error);  // nothing after the first
}

}  // namespace
}  // namespace cycles
