// L2 has two halves, and a GPC is at one of them. What does a half get of what it does not hold: from DRAM alone,
// beside the other half, or where the other half has it already? And how much does it keep?
#include <algorithm>
#include <array>
#include <map>

#include "common/harness/text.h"
#include "load.h"

namespace calibrate {
namespace {

using harness::format;

constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr int STAGE = 32768;  // bytes: two boxes of 128 rows of 128 bytes

/// The SMs of each half.
using Halves = std::array<std::vector<int>, 2>;

class Bench {
 public:
  explicit Bench(Context& context)
      : context_(context), field_(context, context.scaled(std::size_t{2048} * MiB, 32 * MiB)) {
    const std::vector<int> half_of = find_halves(context);
    for (int sm = 0; sm < context.sms(); ++sm) halves_[static_cast<size_t>(half_of[sm])].push_back(sm);
    // The simulated device has no halves: any two will do to see that the experiment runs.
    if (halves_[1].empty() && context.quick) {
      const auto middle = halves_[0].begin() + context.sms() / 2;
      halves_[1].assign(middle, halves_[0].end());
      halves_[0].erase(middle, halves_[0].end());
    }
  }
  Context& context() const { return context_; }
  const Halves& halves() const { return halves_; }
  const Field& field() const { return field_; }
  CUtensorMap map(int columns) const { return field_.map(columns, 128, 64, mma::Swizzle::B128); }

  /// Notes for each half that streams: bytes in a second, from its first beginning to its last end.
  void note(const std::string& setting, const WorkResult& result) {
    for (size_t half = 0; half < 2; ++half) {
      int64_t begin = INT64_MAX, end = 0, blocks = 0;
      for (const CtaRecord& r : result.ctas) {
        if (r.blocks == 0 || !is_in(half, static_cast<int>(r.sm))) continue;
        begin = std::min(begin, r.begin_ns), end = std::max(end, r.end_ns), blocks += r.blocks;
      }
      if (end <= begin) continue;
      rates_[setting][half].push_back(static_cast<double>(blocks) * STAGE / (1e-9 * static_cast<double>(end - begin)));
    }
    clocks_[setting].push_back(result.mhz());
  }
  void report() const {
    for (const auto& [setting, rates] : rates_) {
      for (size_t half = 0; half < 2; ++half)
        context_.results.add(setting + format(" half=%zu", half), "bytes of a half", "bytes/s", Summary(rates[half]));
      context_.results.add(setting, "clock", "MHz", Summary(clocks_.at(setting)));
    }
  }

 private:
  bool is_in(size_t half, int sm) const {
    return std::find(halves_[half].begin(), halves_[half].end(), sm) != halves_[half].end();
  }

  Context& context_;
  Field field_;
  Halves halves_;
  std::map<std::string, std::array<std::vector<double>, 2>> rates_;  ///< by setting and half
  std::map<std::string, std::vector<double>> clocks_;
};

/// From DRAM: `sharers` SMs of a half read the same, and the other half reads nothing, the same, or something else.
void fills(Bench& bench) {
  Context& context = bench.context();
  const auto sms = static_cast<size_t>(context.sms());
  const Walk walk{.k_blocks = context.scaled(128, 2), .x_step = 64};
  const CUtensorMap map = bench.map(Field::WIDE);
  for (const std::string other : {"nothing", "same", "different"}) {
    for (const int sharers : {1, 2, 4}) {
      for (const int mma : {0, 256}) {
        if (context.quick && (sharers != 2 || mma != 0)) continue;
        Work work{
            .walk = walk, .by_sm = true, .repeat = context.scaled(mma != 0 ? 60 : 2, 1), .stages = 4, .mma_n = mma};
        const int most = static_cast<int>(std::max(bench.halves()[0].size(), bench.halves()[1].size()));
        const int streams = (most + sharers - 1) / sharers;
        const int all = other == "different" ? 2 * streams : streams;
        const int turns = std::max(1, bench.field().rows(Field::WIDE) / 256 / all);
        work.tiles.resize(sms * static_cast<size_t>(turns));
        work.roles.assign(sms, 0);
        for (size_t half = 0; half < (other == "nothing" ? 1u : 2u); ++half) {
          int place = 0;
          for (const int sm : bench.halves()[half]) {
            const int stream = place++ / sharers + (other == "different" && half == 1 ? streams : 0);
            for (int turn = 0; turn < turns; ++turn) {
              const int row = (turn * all + stream) * 256;
              work.tiles[static_cast<size_t>(turn) * sms + static_cast<size_t>(sm)] = {row, row + 128};
            }
            work.roles[static_cast<size_t>(sm)] = STREAMS | MULTIPLIES;
          }
        }
        bench.note(format("source=dram other=%s sharers=%d mma=%d", other.c_str(), sharers, mma),
                   do_work(context, work, map, bench.field()));
      }
    }
  }
}

/// What a half has read is read once more; or by the other half.
void keeps(Bench& bench) {
  Context& context = bench.context();
  const auto sms = static_cast<size_t>(context.sms());
  const CUtensorMap map = bench.map(Field::FLAT);
  const size_t most = std::max(bench.halves()[0].size(), bench.halves()[1].size());
  const int rows_of_stage = STAGE / 128, part = static_cast<int>(most) * rows_of_stage;  // a stage for each SM
  int next = 0;
  /// Both halves, or one of them, go through so many stages for each SM, from these rows on.
  const auto stream = [&](int stages, std::array<int, 2> first_rows) {
    Work work{.walk = {.k_blocks = stages, .row_step = part}, .by_sm = true, .stages = 4, .warm_blocks = 1};
    work.tiles.resize(sms);
    work.roles.assign(sms, 0);
    for (size_t half = 0; half < 2; ++half) {
      if (first_rows[half] < 0) continue;
      int place = 0;
      for (const int sm : bench.halves()[half]) {
        const int row = first_rows[half] + place++ * rows_of_stage;
        work.tiles[static_cast<size_t>(sm)] = {row, row + 128};
        work.roles[static_cast<size_t>(sm)] = STREAMS;
      }
    }
    return do_work(context, work, map, bench.field());
  };
  const auto fresh = [&](int stages) {  // rows that have not been used lately
    if (next + stages * part > bench.field().rows(Field::FLAT)) next = 0;
    return std::exchange(next, next + stages * part);
  };
  for (const int stages : {3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24}) {
    if (context.quick && stages != 3) continue;
    const auto setting = [&](const char* who) {
      return format("source=l2 readers=%s bytes=%d", who, stages * part * 128);
    };
    for (int repeat = 0; repeat < context.scaled(3, 1); ++repeat) {
      const int again = context.scaled(64, 3);
      stream(again, {fresh(again), -1});  // something else
      const int mine = fresh(stages), others = fresh(stages);
      stream(stages, {mine, -1});
      bench.note(setting("one_again"), stream(stages, {mine, -1}));
      stream(again, {fresh(again), -1});
      stream(stages, {mine, mine});
      bench.note(setting("both_again"), stream(stages, {mine, mine}));
      stream(again, {fresh(again), -1});
      stream(stages, {mine, others});
      bench.note(setting("each_again"), stream(stages, {mine, others}));
      stream(again, {fresh(again), -1});
      stream(stages, {-1, mine});
      bench.note(setting("one_after_other"), stream(stages, {mine, -1}));
    }
  }
}

}  // namespace

void run_halves(Context& context) {
  Bench bench(context);
  if (bench.halves()[1].empty()) return;
  fills(bench);
  keeps(bench);
  bench.report();
}

}  // namespace calibrate
