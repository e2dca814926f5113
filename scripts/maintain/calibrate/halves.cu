// L2 has two halves, and a GPC is at one of them. What do the halves get from DRAM when both read the same?
#include <algorithm>

#include "common/harness/text.h"
#include "load.h"

namespace calibrate {

using harness::format;

constexpr int STAGE = 32768;  // bytes: two boxes of 128 rows of 128 bytes

/// One or two SMs of a half read the same, and so does the other half. Bytes in a second of each half, from its first
/// beginning to its last end.
void run_halves(Context& context) {
  std::vector<int> half_of = find_halves(context);
  // The simulated device has no halves: any two will do to see that the experiment runs.
  if (context.quick) std::fill(half_of.begin() + context.sms() / 2, half_of.end(), 1);
  const auto second = static_cast<int>(std::count(half_of.begin(), half_of.end(), 1));
  if (second == 0) return;
  const int largest = std::max(second, context.sms() - second);
  const Field field(context, context.scaled(std::size_t{2048} << 20, std::size_t{32} << 20));
  const CUtensorMap map = field.map(Field::WIDE, 128, 64, mma::Swizzle::B128);
  for (const int sharers : {1, 2}) {
    if (context.quick && sharers != 2) continue;
    Work work{.walk = {.k_blocks = context.scaled(128, 2), .x_step = 64},
              .by_sm = true,
              .repeat = context.scaled(2, 1),
              .stages = 4};
    const int streams = (largest + sharers - 1) / sharers;
    for (int turn = 0; turn < std::max(1, field.rows(Field::WIDE) / 256 / streams); ++turn) {
      int placed[2] = {};
      for (const int half : half_of) {
        const int row = (turn * streams + placed[half]++ / sharers) * 256;
        work.tiles.push_back({row, row + 128});
      }
    }
    const WorkResult result = do_work(context, work, map, field);
    const std::string setting = format("source=dram other=same sharers=%d mma=0", sharers);
    for (int half = 0; half < 2; ++half) {
      int64_t begin = INT64_MAX, end = 0, blocks = 0;
      for (const CtaRecord& r : result.ctas) {
        if (r.blocks == 0 || half_of[r.sm] != half) continue;
        begin = std::min(begin, r.begin_ns), end = std::max(end, r.end_ns), blocks += r.blocks;
      }
      if (end > begin)
        context.results.add(setting + format(" half=%d", half), "bytes of a half", "bytes/s",
                            static_cast<double>(blocks) * STAGE / (1e-9 * static_cast<double>(end - begin)));
    }
    context.results.add(setting, "clock", "MHz", result.mhz());
  }
}

}  // namespace calibrate
