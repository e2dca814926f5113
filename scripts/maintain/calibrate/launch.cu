// Launches and CTAs that follow one another: what lies between the last instruction of one and the first of the next.
#include <algorithm>
#include <map>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/registers.cuh"

namespace calibrate {
namespace {

using harness::format;

struct Stay {
  uint32_t sm, cta;
  int64_t begin_ns, end_ns, begin_cycle, end_cycle;
};

/// Stays for about `cycles`, every CTA a little differently, and notes when it came and went.
__global__ void stay(Stay* stays, int cycles, int spread, bool dependents, __nv_bfloat162* stored) {
  const int64_t begin = clock64(), begin_ns = ptx::globaltimer();
  if (dependents) ptx::griddepcontrol_launch_dependents();
  const int mine = cycles + static_cast<int>(blockIdx.x * 2654435761u % static_cast<uint32_t>(spread + 1));
  while (clock64() - begin < mine) {}
  if (dependents) ptx::griddepcontrol_wait();
  if (stored != nullptr) {  // what an epilogue leaves behind: 256 bytes per thread
    for (int i = 0; i < 64; ++i)
      stored[(static_cast<size_t>(blockIdx.x) * 64 + i) * blockDim.x + threadIdx.x] = __floats2bfloat162_rn(1.0f, 2.0f);
  }
  __syncthreads();
  if (threadIdx.x == 0) stays[blockIdx.x] = {ptx::smid(), blockIdx.x, begin_ns, ptx::globaltimer(), begin, clock64()};
}

struct Shape {
  int ctas, threads, smem, cluster;
  std::string text() const { return format("ctas=%d threads=%d smem=%d cluster=%d", ctas, threads, smem, cluster); }
};

void launch(const Context& context, const Shape& shape, Stay* stays, int cycles, int spread, bool early,
            __nv_bfloat162* stored) {
  cudaLaunchAttribute attributes[2] = {
      {.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {static_cast<unsigned>(shape.cluster), 1, 1}}},
      {.id = cudaLaunchAttributeProgrammaticStreamSerialization, .val = {.programmaticStreamSerializationAllowed = 1}}};
  cudaLaunchConfig_t config{.gridDim = static_cast<unsigned>(shape.ctas),
                            .blockDim = static_cast<unsigned>(shape.threads),
                            .dynamicSmemBytes = static_cast<size_t>(shape.smem),
                            .stream = context.stream,
                            .attrs = attributes,
                            .numAttrs = early ? 2u : 1u};
  harness::check(cudaLaunchKernelEx(&config, stay, stays, cycles, spread, early, stored), "launching CTAs that stay");
}

/// Launches of one stream, one behind the other: from the last end of one to the first begin of the next.
void measure_launches(Context& context, const Shape& shape, int cycles, bool early) {
  const int launches = context.scaled(40, 3);
  const DeviceArray<Stay> stays(static_cast<size_t>(launches) * shape.ctas);
  for (int i = 0; i < launches; ++i)
    launch(context, shape, stays.data() + static_cast<ptrdiff_t>(i) * shape.ctas, cycles, 0, early, nullptr);
  context.synchronize("running launches");
  const std::vector<Stay> all = stays.read();
  std::vector<double> gaps, on_sm, starts, lengths, periods;
  int64_t last_end = 0, last_begin = 0;
  std::map<uint32_t, int64_t> left;  // cycle at which the SM became free
  for (int i = 0; i < launches; ++i) {
    int64_t begin = INT64_MAX, end = 0;
    for (int cta = 0; cta < shape.ctas; ++cta) {
      const Stay& s = all[static_cast<size_t>(i) * shape.ctas + cta];
      begin = std::min(begin, s.begin_ns), end = std::max(end, s.end_ns);
    }
    for (int cta = 0; cta < shape.ctas && i >= launches / 4; ++cta) {
      const Stay& s = all[static_cast<size_t>(i) * shape.ctas + cta];
      starts.push_back(static_cast<double>(s.begin_ns - begin));
      if (left.contains(s.sm)) on_sm.push_back(static_cast<double>(s.begin_cycle - left[s.sm]));
    }
    for (int cta = 0; cta < shape.ctas; ++cta) {
      const Stay& s = all[static_cast<size_t>(i) * shape.ctas + cta];
      left[s.sm] = std::max(left[s.sm], s.end_cycle);
    }
    if (i >= launches / 4 && i > 0) {
      gaps.push_back(static_cast<double>(begin - last_end)), lengths.push_back(static_cast<double>(end - begin));
      periods.push_back(static_cast<double>(begin - last_begin));
    }
    last_end = end, last_begin = begin;
  }
  const std::string setting = shape.text() + format(" early=%d cycles=%d", early, cycles);
  context.results.add(setting, "gap between launches", "ns", Summary(gaps));
  context.results.add(setting, "gap between launches on an SM", "cycles", Summary(on_sm));
  context.results.add(setting, "begin of CTAs after the first", "ns", Summary(starts));
  context.results.add(setting, "length of a launch", "ns", Summary(lengths));
  context.results.add(setting, "from begin to begin", "ns", Summary(periods));
}

/// More CTAs than find room: from the end of one to the begin of the next on the same SM.
void measure_slots(Context& context, const Shape& shape, int cycles, int spread, bool stores) {
  const DeviceArray<Stay> stays(static_cast<size_t>(shape.ctas));
  const DeviceArray<__nv_bfloat162> stored(stores ? static_cast<size_t>(shape.ctas) * shape.threads * 64 : 1);
  launch(context, shape, stays.data(), cycles, spread, false, stores ? stored.data() : nullptr);
  context.synchronize("running more CTAs than fit");
  std::map<uint32_t, std::vector<Stay>> by_sm;
  for (const Stay& s : stays.read()) by_sm[s.sm].push_back(s);
  std::vector<double> gaps;
  for (auto& [sm, list] : by_sm) {
    std::sort(list.begin(), list.end(), [](const Stay& a, const Stay& b) { return a.begin_cycle < b.begin_cycle; });
    for (size_t i = 1; i < list.size(); ++i)
      gaps.push_back(static_cast<double>(list[i].begin_cycle - list[i - 1].end_cycle));
  }
  context.results.add(shape.text() + format(" cycles=%d spread=%d stores=%d", cycles, spread, stores),
                      "gap between CTAs on an SM", "cycles", Summary(gaps));
}

}  // namespace

void run_launch(Context& context) {
  constexpr int LARGE = 200 * 1024;  // one CTA per SM
  harness::check(cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE),
                 "asking for shared memory");
  const int sms = context.sms(), cycles = context.scaled(20'000, 500);
  for (const bool early : {false, true}) {
    for (const int cluster : {1, 2, 4}) {
      if (context.quick && cluster > 2) continue;
      measure_launches(context, {sms / cluster * cluster, 384, LARGE, cluster}, cycles, early);
    }
    measure_launches(context, {1, 32, 1024, 1}, 100, early);
    measure_launches(context, {sms, 384, LARGE, 1}, 100, early);
  }
  for (const bool stores : {false, true}) {
    for (const int cluster : {1, 2, 4}) {
      if (context.quick && cluster > 2) continue;
      measure_slots(context, {sms / cluster * cluster * context.scaled(6, 2), 384, LARGE, cluster}, cycles, cycles / 4,
                    stores);
    }
    measure_slots(context, {sms * context.scaled(6, 2), 128, LARGE, 1}, cycles, cycles / 4, stores);
    measure_slots(context, {sms * context.scaled(6, 2), 256, LARGE, 1}, cycles, 0, stores);
  }
}

}  // namespace calibrate
