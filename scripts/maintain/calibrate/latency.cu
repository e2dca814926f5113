// One load at a time, on an idle GPU: how long does it take until a line or a box is there?
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "timers.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int ONE_CTA_PER_SM = 200 * 1024;  // bytes of shared memory
constexpr int RING = 1024;                  // where boxes go

struct Timing {
  int issue, latency;  // cycles: until the last instruction was issued, until all bytes were there
};

/// The SM with this number loads `boxes` boxes at a time, beginning at (0, y) with y = first_row + turn * row_step; so
/// many turns, one after the other. `first`: the first load of the kernel is timed apart from the others, its
/// descriptor unseen.
__global__ void time_boxes(const __grid_constant__ CUtensorMap map, int sm, int boxes, int box_rows, int box_bytes,
                           int first_row, int row_step, int turns, bool prefetch, Timing* timings) {
  extern __shared__ __align__(1024) uint8_t smem[];
  if (static_cast<int>(ptx::smid()) != sm || threadIdx.x != 0) return;
  const uint32_t base = ptx::smem_address(smem);
  ptx::mbarrier_init(base, 1);
  ptx::fence_mbarrier_init();
  if (prefetch) {
    ptx::prefetch_tensormap(&map);
    for (const int64_t start = clock64(); clock64() - start < 4000;) {}
  }
  for (int turn = 0; turn < turns; ++turn) {
    const int y = first_row + turn * row_step;
    const int64_t start = clock64();
    ptx::mbarrier_arrive_expect_tx(base, boxes * box_bytes);
    for (int box = 0; box < boxes; ++box)
      ptx::cp_async_bulk_tensor_2d_g2s(base + RING + box * box_bytes, &map, 0, y + box * box_rows, base);
    const int64_t issued = clock64();
    ptx::mbarrier_wait(base, turn & 1);
    timings[turn] = {static_cast<int>(issued - start), static_cast<int>(clock64() - start)};
  }
}

/// One thread loads `count` lines whose location is unknown, one after the other.
__global__ void time_cold_lines(const int* memory, int64_t step, int count, int* latencies) {
  for (int i = 0; i < count; ++i) latencies[i] = time_load(memory + i * step, latencies);
}

struct Box {
  int columns, rows, cols, boxes;  // of the matrix; of a box; at a time
  mma::Swizzle swizzle;
  int bytes() const { return rows * cols * 2; }
  std::string text() const {
    return format("bytes=%d boxes=%d row=%d pitch=%d", boxes * bytes(), boxes, cols * 2, columns * 2);
  }
};

std::vector<Timing> measure(Context& context, const Field& field, const Box& box, int sm, int first_row, int row_step,
                            int turns, bool prefetch) {
  const DeviceArray<Timing> timings(static_cast<size_t>(turns));
  harness::check(cudaFuncSetAttribute(time_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize, ONE_CTA_PER_SM),
                 "asking for shared memory");
  time_boxes<<<context.sms(), 32, ONE_CTA_PER_SM, context.stream>>>(
      field.map(box.columns, box.rows, box.cols, box.swizzle), sm, box.boxes, box.rows, box.bytes(), first_row,
      row_step, turns, prefetch, timings.data());
  harness::check(cudaGetLastError(), "launching loads of boxes");
  context.synchronize("timing boxes");
  return timings.read();
}

std::vector<double> latencies(const std::vector<Timing>& timings) {
  std::vector<double> values;
  for (const Timing& t : timings) values.push_back(t.latency);
  return values;
}

}  // namespace

void run_latency(Context& context) {
  const Field field(context, context.scaled<size_t>(size_t{1} << 30, size_t{8} << 20));
  const int turns = context.scaled(48, 3);
  int next_row = 0;  // of the wide matrix: untouched rows are not in L2
  const auto fresh_rows = [&](int rows) {
    if (next_row + rows > field.rows(Field::WIDE)) next_row = 0;
    return std::exchange(next_row, next_row + rows);
  };

  std::vector<Box> boxes;
  for (const int rows : {8, 16, 32, 64, 128, 256}) boxes.push_back({Field::WIDE, rows, 64, 1, mma::Swizzle::B128});
  for (const int count : {2, 4}) boxes.push_back({Field::WIDE, 128, 64, count, mma::Swizzle::B128});
  boxes.push_back({Field::WIDE, 256, 64, 4, mma::Swizzle::B128});
  boxes.push_back({Field::WIDE, 256, 64, 6, mma::Swizzle::B128});
  boxes.push_back({Field::WIDE, 128, 32, 1, mma::Swizzle::B64});
  boxes.push_back({Field::WIDE, 128, 16, 1, mma::Swizzle::B32});
  boxes.push_back({Field::WIDE, 128, 8, 1, mma::Swizzle::None});
  boxes.push_back({Field::WIDE, 256, 8, 4, mma::Swizzle::None});
  boxes.push_back({Field::FLAT, 128, 64, 1, mma::Swizzle::B128});
  if (context.quick) boxes.resize(2);

  for (const Box& box : boxes) {
    const int rows = box.rows * box.boxes, first = box.columns == Field::WIDE ? fresh_rows(rows * turns) : 0;
    if (static_cast<int64_t>(first) + rows * turns > field.rows(box.columns)) continue;
    for (const char* source : {"miss", "hit"}) {  // what missed L2 is in it the second time
      const auto timings = measure(context, field, box, 0, first, rows, turns, true);
      context.results.add(box.text() + " source=" + source, "latency", "cycles", Summary(latencies(timings)));
      if (source[0] == 'h') {
        std::vector<double> issue;
        for (const Timing& t : timings) issue.push_back(t.issue);
        context.results.add(box.text() + " source=hit", "issue", "cycles", Summary(issue));
      }
    }
  }

  // The first use of a descriptor in a kernel.
  const Box usual{Field::WIDE, 128, 64, 2, mma::Swizzle::B128};
  for (const bool prefetch : {false, true}) {
    std::vector<double> first, second;
    for (int i = 0; i < context.scaled(9, 1); ++i) {
      const auto timings = measure(context, field, usual, 0, 0, 0, 2, prefetch);
      first.push_back(timings[0].latency), second.push_back(timings[1].latency);
    }
    context.results.add(format("prefetch=%d", prefetch), "first load of a kernel", "cycles", Summary(first));
    context.results.add(format("prefetch=%d", prefetch), "second load of a kernel", "cycles", Summary(second));
  }
  // The same bytes from each SM.
  for (int sm = 0; sm < context.scaled(context.sms(), 2); ++sm) {
    const auto timings = measure(context, field, usual, sm, 0, 256, context.scaled(17, 2), true);
    if (timings[1].latency > 0)
      context.results.add(format("sm=%d", sm), "latency of 32 KiB", "cycles", Summary(latencies(timings)));
  }
  // Lines by ordinary loads: from DRAM, then from L2.
  const int count = context.scaled(512, 8);
  const int64_t step = static_cast<int64_t>(field.bytes()) / 4 / count;
  const DeviceArray<int> cold(static_cast<size_t>(count));
  for (const char* source : {"miss", "hit"}) {
    if (source[0] == 'm') Field(context, context.scaled<size_t>(size_t{256} << 20, size_t{1} << 20));  // fills L2
    time_cold_lines<<<1, 1, 0, context.stream>>>(reinterpret_cast<const int*>(field.data()), step, count, cold.data());
    harness::check(cudaGetLastError(), "launching loads of lines");
    context.synchronize("timing lines");
    std::vector<double> values;
    for (const int latency : cold.read()) values.push_back(latency);
    context.results.add(format("source=%s", source), "latency of a line", "cycles", Summary(values));
  }
}

}  // namespace calibrate
