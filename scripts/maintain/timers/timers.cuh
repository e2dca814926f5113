// Timers inside a kernel. The warps of one CTA write down what they wait for, and when; the host makes a trace of it,
// in the form that the simulated device writes, for scripts/timeline.py and ui.perfetto.dev.
//
// Each warp records from its lane 0, which is also the one that elect.sync elects. Times are cycles of the SM
// (clock64()), which all warps of a CTA share; %globaltimer tells at both ends how many nanoseconds these are.
// Recording costs a warp a few dozen cycles per span.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "common/ptx/registers.cuh"

namespace timers {

enum class What : uint32_t { Mbarrier, CtaBarrier, Wgmma, Stores, Loads, Mmas };

struct Span {
  int64_t begin, end;  ///< cycles
  What what;
  uint32_t line;  ///< of the source
};

inline constexpr int WARPS = 16, SPANS = 1024;

/// Of the CTA with blockIdx.x == 0, in the launch that came last.
struct Records {
  Span spans[WARPS][SPANS];
  uint32_t counts[WARPS];
  int64_t cycles[2];       // at the beginning and the end of warp 0 and of the last warp
  int64_t nanoseconds[2];  // likewise
};
static __device__ Records records;

/// One in each thread, made at the beginning of the kernel.
class Timer {
 public:
  __device__ Timer() : on_(blockIdx.x == 0 && threadIdx.x % 32 == 0) {
    if (on_ && threadIdx.x == 0) records.cycles[0] = clock64(), records.nanoseconds[0] = ptx::globaltimer();
  }

  /// Something begins here: a wait, or the issue of loads or MMAs.
  __device__ void begin() {
    if (on_) begin_ = clock64();
  }
  /// It ends here.
  __device__ void end(What what, int line = __builtin_LINE()) {
    if (on_ && count_ < SPANS) {
      records.spans[threadIdx.x / 32][count_++] = {begin_, clock64(), what, static_cast<uint32_t>(line)};
    }
  }
  /// The warp has nothing more to tell.
  __device__ void finish() {
    if (on_) {
      records.counts[threadIdx.x / 32] = count_;
      records.cycles[1] = clock64(), records.nanoseconds[1] = ptx::globaltimer();
    }
  }

 private:
  bool on_;
  uint32_t count_ = 0;
  int64_t begin_ = 0;
};

/// Turns what was recorded into the events of a trace.
class Writer {
 public:
  Writer(std::FILE* file, const char* source, const Records& records)
      : file_(file), source_(source), records_(records), start_(records.cycles[0]) {}

  void write(const char* gpu) {
    const double nanoseconds = static_cast<double>(records_.nanoseconds[1] - records_.nanoseconds[0]);
    const double cycles = static_cast<double>(records_.cycles[1] - records_.cycles[0]);
    std::fprintf(file_,
                 "{\"otherData\": {\"version\": 2, \"gpu\": \"%s\", \"kind\": \"%s\", "
                 "\"unit\": \"cycles, shown as nanoseconds\", \"mhz\": %.0f},\n\"traceEvents\": [",
                 gpu, std::string_view(gpu).starts_with("Simulated") ? "modelled" : "measured",
                 nanoseconds > 0 ? 1000 * cycles / nanoseconds : 0);
    for (int warp = 0; warp < WARPS; ++warp) write_warp(warp);
    write_loads();
    std::fputs("\n]}\n", file_);
  }

 private:
  struct Wait {
    What what;
    const char* name;
  };
  static constexpr Wait WAITS[] = {{What::Mbarrier, "wait: mbarrier"},
                                   {What::CtaBarrier, "wait: CTA barrier"},
                                   {What::Wgmma, "wait: wgmma"},
                                   {What::Stores, "wait: bulk stores"}};

  std::vector<Span> spans_of(int warp) const {
    return {records_.spans[warp], records_.spans[warp] + records_.counts[warp]};
  }

  /// Waits, with what lies between them as "run"; MMAs, from their issue until the warp has seen them done; stores.
  void write_warp(int warp) {
    const std::vector<Span> spans = spans_of(warp);
    uint32_t last_line = 0;  // of the waits for MMAs: there none is in flight any more
    for (const Span& span : spans) last_line = span.what == What::Wgmma ? std::max(last_line, span.line) : last_line;
    std::vector<Span> mmas;
    int64_t done = start_;
    for (const Span& span : spans) {
      const Wait* wait =
          std::find_if(std::begin(WAITS), std::end(WAITS), [&](const Wait& w) { return w.what == span.what; });
      if (wait != std::end(WAITS)) {
        event("run", "run", 16 + warp, done, span.begin, 0, 0);
        event("wait", wait->name, 16 + warp, span.begin, span.end, span.line, 0);
        done = span.end;
      }
      if (span.what == What::Mbarrier && warp >= 4 && warp % 4 == 0) arrivals_.push_back(span.end);
      if (span.what == What::Stores) event("operation", "TMA store", 4, span.begin, span.end, span.line, span.end);
      if (span.what == What::Mmas && warp % 4 == 0) {
        event("operation", "wgmma.commit_group", 5, span.end, span.end, span.line, span.end);
        mmas.push_back(span);
      }
      if (span.what == What::Wgmma && warp % 4 == 0) {
        for (const size_t in_flight = span.line != last_line; mmas.size() > in_flight; mmas.erase(mmas.begin())) {
          event("operation", "wgmma m64", 2, mmas.front().begin, span.end, mmas.front().line, span.end);
        }
      }
    }
  }

  /// Loads, from their issue until the consumers have seen their bytes: K block after K block, as the ring has them.
  void write_loads() {
    std::sort(arrivals_.begin(), arrivals_.end());
    size_t block = 0;
    for (const Span& span : spans_of(0)) {
      if (span.what != What::Loads || block == arrivals_.size()) continue;
      event("operation", "TMA load", 1, span.begin, span.end, span.line, arrivals_[block++]);
    }
  }

  void event(const char* category, const char* name, int track, int64_t begin, int64_t end, uint32_t line,
             int64_t seen) {
    std::fprintf(
        file_,
        "%s\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f",
        first_ ? "" : ",", category, name, track, us(begin - start_), us(end - begin));
    first_ = false;
    if (line != 0) {
      std::fprintf(file_, ", \"args\": {\"source\": \"%s:%u\", \"seen\": %.3f}", source_, line, us(seen - start_));
    }
    std::fputc('}', file_);
  }
  static double us(int64_t cycles) { return static_cast<double>(cycles) / 1000; }

  std::FILE* file_;
  const char* source_;
  const Records& records_;
  int64_t start_;
  std::vector<int64_t> arrivals_;  // of K blocks, as the first warp of each consumer has seen them
  bool first_ = true;
};

/// Waits for the launch and writes its trace to the file that LADDER_TIMERS names; does nothing without it.
inline cudaError_t write(const char* source) {
  const char* path = std::getenv("LADDER_TIMERS");
  if (path == nullptr) return cudaSuccess;
  cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return status;
  const auto copy = std::make_unique<Records>();
  status = cudaMemcpyFromSymbol(copy.get(), records, sizeof(Records));
  if (status != cudaSuccess) return status;
  cudaDeviceProp gpu;
  status = cudaGetDeviceProperties(&gpu, 0);
  if (status != cudaSuccess) return status;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return cudaErrorInvalidValue;
  Writer(file, source, *copy).write(gpu.name);
  return std::fclose(file) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace timers
