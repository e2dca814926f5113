#include "bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "failure.h"
#include "text.h"

namespace harness {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t ALIGNMENT = 1024;
constexpr double MIN_L2_COVERAGE = 2;
constexpr int MAX_SETS = 256;  // a tiny problem would need thousands: it stays in L2

constexpr double MIN_WARM_UP_S = 1, MAX_WARM_UP_SHARE = 0.3;
constexpr double CHOICE_SHARE = 0.1;
constexpr size_t FINALISTS = 3;

constexpr int BURSTS = 5;
constexpr auto BURST_IDLE = 500ms;
constexpr double BURST_WORK_S = 0.008;

std::size_t aligned(std::int64_t elements) {
  return (static_cast<std::size_t>(elements) * sizeof(Bf16) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Speed speed(double flops, const std::vector<double>& seconds) {
  const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
  return {.tflops = flops / median(seconds) * 1e-12,
          .tflops_min = flops / *slowest * 1e-12,
          .tflops_max = flops / *fastest * 1e-12};
}

Rival rival(double flops, const std::vector<double>& seconds, const std::vector<double>& level_seconds) {
  std::vector<double> ratios;
  for (size_t i = 0; i < seconds.size(); ++i) ratios.push_back(seconds[i] / level_seconds[i]);
  return {.speed = speed(flops, seconds), .ratio = median(ratios), .interval = median_interval(ratios)};
}

/// Of the seconds of the levels, of cuBLAS if it was there, and of cublasLt likewise: how one of the levels compares.
Comparison compare(double flops, const std::vector<std::vector<double>>& seconds, size_t level, size_t levels) {
  Comparison result{.level = speed(flops, seconds[level])};
  if (seconds.size() > levels) result.cublas = rival(flops, seconds[levels], seconds[level]);
  if (seconds.size() > levels + 1) result.cublaslt = rival(flops, seconds[levels + 1], seconds[level]);
  return result;
}

}  // namespace

int Bench::sets_for(const Shape& shape, const Device& device) {
  const double touched =
      static_cast<double>(aligned(shape.a_elements()) + aligned(shape.b_elements()) + aligned(shape.d_elements()));
  const double sets = std::ceil(MIN_L2_COVERAGE * device.properties.l2CacheSize / touched);
  return static_cast<int>(std::clamp<double>(sets, 2, MAX_SETS));
}

double Bench::bytes(const Shape& shape, const Device& device, int levels) {
  return sets_for(shape, device) * static_cast<double>(aligned(shape.a_elements()) + aligned(shape.b_elements()) +
                                                       (levels + 1.0) * aligned(shape.d_elements())) +
         static_cast<double>(CublasLt::WORKSPACE_BYTES);
}

Bench::Bench(const Shape& shape, const Device& device, const Bf16* a, const Bf16* b, cudaStream_t stream, int levels)
    : shape_(shape),
      stream_(stream),
      sets_(sets_for(shape, device)),
      last_sets_(levels),
      stopwatch_(sets_, stream),
      a_(sets_ * aligned(shape.a_elements()), "copies of A"),
      b_(sets_ * aligned(shape.b_elements()), "copies of B"),
      d_level_(levels * sets_ * aligned(shape.d_elements()), "copies of D"),
      d_blas_(sets_ * aligned(shape.d_elements()), "cuBLAS's copies of D") {
  for (int set = 0; set < sets_; ++set) {
    check(cudaMemcpy(a_.data() + set * aligned(shape.a_elements()), a, shape.a_elements() * sizeof(Bf16),
                     cudaMemcpyDeviceToDevice),
          "copying A");
    check(cudaMemcpy(b_.data() + set * aligned(shape.b_elements()), b, shape.b_elements() * sizeof(Bf16),
                     cudaMemcpyDeviceToDevice),
          "copying B");
  }
  check(cudaMemset(d_level_.data(), 0xFF, levels * sets_ * aligned(shape.d_elements())), "poisoning D");
}

std::size_t Bench::d_offset(int level, int set) const {
  return (static_cast<std::size_t>(level) * sets_ + set) * aligned(shape_.d_elements());
}

Problem Bench::problem(int level, int set) const {
  return {.m = shape_.m,
          .n = shape_.n,
          .k = shape_.k,
          .a = reinterpret_cast<const __nv_bfloat16*>(a_.data() + set * aligned(shape_.a_elements())),
          .b = reinterpret_cast<const __nv_bfloat16*>(b_.data() + set * aligned(shape_.b_elements())),
          .d = reinterpret_cast<__nv_bfloat16*>(d_level_.data() + d_offset(level, set)),
          .ldd = shape_.n};
}

ColumnMajorGemm Bench::blas_problem(int set) const {
  const Problem p = problem(0, set);
  return column_major(shape_, p.a, p.b, d_blas_.data() + set * aligned(shape_.d_elements()), shape_.n);
}

/// The fastest of cublasLt's proposals. Half of the time goes to all of them, the other half to those that were
/// fastest: the first few often differ by less than the noise of a slice. Each is timed twice, in opposite orders; an
/// algorithm that refuses to run loses.
int Bench::choose_algorithm(const CublasLt& lt, void* workspace, double budget_s) {
  const auto ranked = [&](std::vector<int> algorithms) {
    std::vector<double> seconds(static_cast<size_t>(lt.algorithms()), 0);
    const double slice_s = budget_s / 4 / static_cast<double>(algorithms.size());
    const auto visit = [&](int algorithm) {
      Contestant contestant{[&](int set) { lt.matmul(algorithm, blas_problem(set), workspace, stream_); }};
      try {
        seconds[algorithm] += stopwatch_.time_slice(contestant, slice_s);
      } catch (const Failure&) {
        if (cudaPeekAtLastError() != cudaSuccess) throw;
        seconds[algorithm] = INFINITY;
      }
    };
    std::for_each(algorithms.begin(), algorithms.end(), visit);
    std::for_each(algorithms.rbegin(), algorithms.rend(), visit);
    std::stable_sort(algorithms.begin(), algorithms.end(), [&](int a, int b) { return seconds[a] < seconds[b]; });
    return algorithms;
  };
  std::vector<int> algorithms(static_cast<size_t>(lt.algorithms()));
  std::iota(algorithms.begin(), algorithms.end(), 0);
  algorithms = ranked(algorithms);
  algorithms.resize(std::min(algorithms.size(), FINALISTS));
  return ranked(algorithms).front();
}

/// Median seconds per call of each contestant. After half a second of idling a few milliseconds of work are over before
/// power limits the clock: such figures repeat well, but rank kernels by cycles, not by energy.
std::vector<double> Bench::time_bursts(std::vector<Contestant>& contestants) {
  std::vector<std::vector<double>> seconds(contestants.size());
  for (int burst = 0; burst < BURSTS; ++burst) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      std::this_thread::sleep_for(BURST_IDLE);
      const int calls = static_cast<int>(std::max(1.0, std::round(BURST_WORK_S / contestants[i].estimate_s)));
      seconds[i].push_back(stopwatch_.time_calls(contestants[i], 1, calls));
    }
  }
  std::vector<double> medians;
  for (const auto& s : seconds) medians.push_back(median(s));
  return medians;
}

std::vector<BenchResult> Bench::run(const BenchSettings& settings, const std::vector<Launch>& levels,
                                    const Cublas* cublas, const Nvml& nvml, Progress& progress,
                                    const std::string& title) {
  BenchResult result;
  const double start = now_s();

  std::vector<Contestant> contestants;
  for (size_t level = 0; level < levels.size(); ++level) {
    contestants.push_back({[&, level](int set) {
      levels[level](problem(static_cast<int>(level), set));
      last_sets_[level] = set;
    }});
  }
  if (cublas != nullptr) contestants.push_back({[&](int set) { cublas->gemm_to_bf16(blas_problem(set)); }});
  progress.set(title + ": warming up");
  const double longest = MAX_WARM_UP_SHARE * settings.budget_s;
  stopwatch_.warm_up(contestants, std::min(MIN_WARM_UP_S, longest / 2), longest);

  int algorithm = 0;
  DeviceMemory workspace;
  std::unique_ptr<CublasLt> lt;
  if (cublas != nullptr) lt = CublasLt::open(blas_problem(0), result.note);
  if (lt != nullptr) {
    progress.set(title + ": choosing cublasLt's best algorithm");
    workspace = DeviceMemory(CublasLt::WORKSPACE_BYTES, "cublasLt's workspace");
    algorithm = choose_algorithm(*lt, workspace.data(), CHOICE_SHARE * settings.budget_s);
    contestants.push_back({[&](int set) { lt->matmul(algorithm, blas_problem(set), workspace.data(), stream_); }});
    result.cublaslt_algorithm = format("%d of %d", algorithm + 1, lt->algorithms());
  }

  const double remaining = std::max(settings.budget_s - (now_s() - start), settings.budget_s / 3);
  PowerMeter meter(nvml);
  const auto seconds = stopwatch_.time_rounds(contestants, settings.rounds, remaining, [&](int round) {
    progress.set(title + format(": timing, round %d of %d", round + 1, settings.rounds));
  });
  meter.stop();
  result.sm_mhz = meter.sm_mhz;
  result.power_w = meter.power_w;

  std::vector<std::vector<double>> seconds_apart;
  if (settings.apart) {
    std::vector<Contestant> apart;
    for (const Contestant& contestant : contestants) {
      apart.push_back({[&](int set) {
        contestant.enqueue(set);
        stopwatch_.separate();
      }});
    }
    seconds_apart = stopwatch_.time_rounds(apart, settings.rounds, remaining, [&](int round) {
      progress.set(title + format(": timing calls apart, round %d of %d", round + 1, settings.rounds));
    });
  }
  std::vector<double> bursts;
  if (settings.burst) {
    progress.set(title + ": timing bursts");
    bursts = time_bursts(contestants);
  }

  const double flops = shape_.flops();
  const size_t n = levels.size();
  std::vector<BenchResult> results(n, result);
  for (size_t level = 0; level < n; ++level) {
    BenchResult& one = results[level];
    static_cast<Comparison&>(one) = compare(flops, seconds, level, n);
    if (settings.apart) one.apart = compare(flops, seconds_apart, level, n);
    if (!settings.burst) continue;
    one.level.burst_tflops = flops / bursts[level] * 1e-12;
    if (one.cublas) one.cublas->speed.burst_tflops = flops / bursts[n] * 1e-12;
    if (one.cublaslt) one.cublaslt->speed.burst_tflops = flops / bursts[n + 1] * 1e-12;
  }
  return results;
}

std::unique_ptr<Bf16[]> Bench::last_d(int level) const {
  auto d = std::make_unique_for_overwrite<Bf16[]>(static_cast<size_t>(shape_.d_elements()));
  check(cudaMemcpy(d.get(), d_level_.data() + d_offset(level, last_sets_.at(static_cast<size_t>(level))),
                   static_cast<size_t>(shape_.d_elements()) * sizeof(Bf16), cudaMemcpyDeviceToHost),
        "copying D to the host");
  return d;
}

}  // namespace harness
