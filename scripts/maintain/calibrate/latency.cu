// One load at a time, on an idle GPU: how long does it take until a box is there?
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int ONE_CTA_PER_SM = 200 * 1024;  // bytes of shared memory
constexpr int RING = 1024;                  // where boxes go
constexpr int ROW_BYTES = 128;              // of a box

struct Timing {
  int issue, latency;  // cycles: until the last instruction was issued, until all bytes were there
};

/// SM 0 loads `boxes` boxes at a time, beginning at (0, y) with y = first_row + turn * step; so many turns, one after
/// the other. Its descriptor has been fetched before.
__global__ void time_boxes(const __grid_constant__ CUtensorMap map, int boxes, int box_rows, int first_row, int turns,
                           Timing* timings) {
  extern __shared__ __align__(1024) uint8_t smem[];
  if (ptx::smid() != 0 || threadIdx.x != 0) return;
  const uint32_t base = ptx::smem_address(smem);
  const int box_bytes = box_rows * ROW_BYTES;
  ptx::mbarrier_init(base, 1);
  ptx::fence_mbarrier_init();
  ptx::prefetch_tensormap(&map);
  for (const int64_t start = clock64(); clock64() - start < 4000;) {}
  for (int turn = 0; turn < turns; ++turn) {
    const int y = first_row + turn * boxes * box_rows;
    const int64_t start = clock64();
    ptx::mbarrier_arrive_expect_tx(base, boxes * box_bytes);
    for (int box = 0; box < boxes; ++box)
      ptx::cp_async_bulk_tensor_2d_g2s(base + RING + box * box_bytes, &map, 0, y + box * box_rows, base);
    const int64_t issued = clock64();
    ptx::mbarrier_wait(base, turn & 1);
    timings[turn] = {static_cast<int>(issued - start), static_cast<int>(clock64() - start)};
  }
}

}  // namespace

void run_latency(Context& context) {
  const Field field(context, context.scaled(size_t{1} << 30, size_t{32} << 20));
  const int turns = context.scaled(48, 3);
  harness::check(cudaFuncSetAttribute(time_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize, ONE_CTA_PER_SM),
                 "asking for shared memory");
  struct Shape {
    int boxes, rows;
  };
  int first_row = 0;
  for (const auto& [boxes, rows] : {Shape{1, 128}, Shape{1, 256}, Shape{4, 128}}) {
    if (context.quick && boxes > 1) continue;
    const std::string shape =
        format("bytes=%d boxes=%d row=%d pitch=%d", boxes * rows * ROW_BYTES, boxes, ROW_BYTES, 2 * Field::WIDE);
    for (const bool hit : {false, true}) {  // what missed L2 is in it the second time
      const DeviceArray<Timing> timings(static_cast<size_t>(turns));
      time_boxes<<<context.sms(), 32, ONE_CTA_PER_SM, context.stream>>>(
          field.map(Field::WIDE, rows, ROW_BYTES / 2, mma::Swizzle::B128), boxes, rows, first_row, turns,
          timings.data());
      harness::check(cudaGetLastError(), "launching loads of boxes");
      context.synchronize("timing boxes");
      std::vector<double> issue, latency;
      for (const Timing& t : timings.read()) issue.push_back(t.issue), latency.push_back(t.latency);
      const std::string setting = shape + (hit ? " source=hit" : " source=miss");
      context.results.add(setting, "latency", "cycles", Summary(latency));
      context.results.add(setting, "issue", "cycles", Summary(issue));
    }
    first_row += boxes * rows * turns;  // rows that are not in L2
  }
}

}  // namespace calibrate
