// Launches and CTAs that follow one another: what lies between the last instruction of one and the first of the next.
#include <algorithm>
#include <map>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/ptx/registers.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int THREADS = 384, LARGE = 200 * 1024;  // one CTA per SM

struct Stay {
  uint32_t sm, cta;
  int64_t begin_ns, end_ns, begin_cycle, end_cycle;
};

/// Stays for about `cycles`, every CTA a little differently, and notes when it came and went.
__global__ void stay(Stay* stays, int cycles, int spread) {
  const int64_t begin = clock64(), begin_ns = ptx::globaltimer();
  const int mine = cycles + static_cast<int>(blockIdx.x * 2654435761u % static_cast<uint32_t>(spread + 1));
  while (clock64() - begin < mine) {}
  __syncthreads();
  if (threadIdx.x == 0) stays[blockIdx.x] = {ptx::smid(), blockIdx.x, begin_ns, ptx::globaltimer(), begin, clock64()};
}

/// Launches of one stream, one behind the other: from the last end of one to the first begin of the next.
void measure_launches(Context& context, int cycles) {
  const int launches = context.scaled(40, 3), ctas = context.sms();
  const DeviceArray<Stay> stays(static_cast<size_t>(launches) * ctas);
  for (int i = 0; i < launches; ++i)
    stay<<<ctas, THREADS, LARGE, context.stream>>>(stays.data() + static_cast<ptrdiff_t>(i) * ctas, cycles, 0);
  harness::check(cudaGetLastError(), "launching CTAs that stay");
  context.synchronize("running launches");
  const std::vector<Stay> all = stays.read();
  std::vector<double> gaps;
  int64_t last_end = 0;
  for (int i = 0; i < launches; ++i) {
    int64_t begin = INT64_MAX, end = 0;
    for (int cta = 0; cta < ctas; ++cta) {
      const Stay& s = all[static_cast<size_t>(i) * ctas + cta];
      begin = std::min(begin, s.begin_ns), end = std::max(end, s.end_ns);
    }
    if (i >= launches / 4 && i > 0) gaps.push_back(static_cast<double>(begin - last_end));
    last_end = end;
  }
  context.results.add(format("ctas=%d threads=%d smem=%d cluster=1 early=0 cycles=%d", ctas, THREADS, LARGE, cycles),
                      "gap between launches", "ns", Summary(gaps));
}

/// More CTAs than find room: from the end of one to the begin of the next on the same SM.
void measure_slots(Context& context, int cycles) {
  const int ctas = context.sms() * context.scaled(6, 2);
  const DeviceArray<Stay> stays(static_cast<size_t>(ctas));
  stay<<<ctas, THREADS, LARGE, context.stream>>>(stays.data(), cycles, cycles / 4);
  harness::check(cudaGetLastError(), "launching CTAs that stay");
  context.synchronize("running more CTAs than fit");
  std::map<uint32_t, std::vector<Stay>> by_sm;
  for (const Stay& s : stays.read()) by_sm[s.sm].push_back(s);
  std::vector<double> gaps;
  for (auto& [sm, list] : by_sm) {
    std::sort(list.begin(), list.end(), [](const Stay& a, const Stay& b) { return a.begin_cycle < b.begin_cycle; });
    for (size_t i = 1; i < list.size(); ++i)
      gaps.push_back(static_cast<double>(list[i].begin_cycle - list[i - 1].end_cycle));
  }
  context.results.add(format("ctas=%d threads=%d smem=%d cluster=1 cycles=%d spread=%d stores=0", ctas, THREADS, LARGE,
                             cycles, cycles / 4),
                      "gap between CTAs on an SM", "cycles", Summary(gaps));
}

}  // namespace

void run_launch(Context& context) {
  harness::check(cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE),
                 "asking for shared memory");
  const int cycles = context.scaled(20'000, 500);
  measure_launches(context, cycles);
  measure_slots(context, cycles);
}

}  // namespace calibrate
