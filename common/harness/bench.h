// How fast is a level, compared with cuBLAS in the same process at the same time?
//
// A GPU under tensor load is limited by power: its clock, and with it every absolute figure, drifts with temperature
// and with what ran before. So the level and its rivals alternate in short slices and in changing order, and every
// round yields one ratio; the median ratio is the result. In a round each contestant gets two slices, the second in
// reverse order (A B B A), so that a steady drift cancels. The first third of a slice is not timed: it belongs to the
// clock and the caches that the previous contestant left behind.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blas.h"
#include "device.h"
#include "level.h"
#include "nvml.h"
#include "progress.h"
#include "shape.h"
#include "statistics.h"
#include "stopwatch.h"

namespace harness {

struct BenchSettings {
  int rounds;
  double budget_s;  ///< for warming up, choosing cublasLt's algorithm and all rounds; bursts and apart come on top
  bool burst;
  bool apart;  ///< also time rounds with an event between calls, so that no launch overlaps the one before
};

struct Speed {
  double tflops;                            ///< of the median round
  double tflops_min, tflops_max;            ///< of the slowest and the fastest round
  std::optional<double> burst_tflops = {};  ///< median over bursts on a cool chip
};

struct Rival {
  Speed speed;
  double ratio;       ///< speed of the level over speed of this rival: median of the rounds' ratios
  Interval interval;  ///< for that median
};

/// The level and its rivals, timed in one way.
struct Comparison {
  Speed level;
  std::optional<Rival> cublas, cublaslt;
};

struct BenchResult : Comparison {
  std::optional<Comparison> apart;        ///< with an event between calls
  std::string cublaslt_algorithm;         ///< "3 of 8": its place among the heuristics' proposals
  std::optional<double> sm_mhz, power_w;  ///< means over all rounds and contestants
  std::string note;                       ///< why a rival is absent; empty if none is
};

/// One problem in as many copies as it takes to cover twice the L2 cache, so that no call finds its operands there.
class Bench {
 public:
  using Launch = std::function<void(const Problem&)>;  ///< enqueues one GEMM, or throws a Failure

  /// `a` [m,k] and `b` [n,k] are copied. D is poisoned. There is one for each of `levels`, kernels that alternate.
  Bench(const Shape& shape, const Device& device, const Bf16* a, const Bf16* b, cudaStream_t stream, int levels = 1);

  /// Device memory that a Bench allocates.
  static double bytes(const Shape& shape, const Device& device, int levels = 1);

  /// Times `levels`, as many as the constructor was told of, against cuBLAS (if not nullptr) and cublasLt (if it can be
  /// opened), all in the same rounds.
  std::vector<BenchResult> run(const BenchSettings& settings, const std::vector<Launch>& levels, const Cublas* cublas,
                               const Nvml& nvml, Progress& progress, const std::string& title);

  /// What the last timed call of a level left behind: D, row-major with pitch n, in host memory.
  std::unique_ptr<Bf16[]> last_d(int level = 0) const;

 private:
  static int sets_for(const Shape& shape, const Device& device);
  std::size_t d_offset(int level, int set) const;
  Problem problem(int level, int set) const;
  ColumnMajorGemm blas_problem(int set) const;

  int choose_algorithm(const CublasLt& lt, void* workspace, double budget_s);
  std::vector<double> time_bursts(std::vector<Contestant>& contestants);

  Shape shape_;
  cudaStream_t stream_;
  int sets_;
  std::vector<int> last_sets_;  ///< of each level's last call
  Stopwatch stopwatch_;
  DeviceMemory a_, b_, d_level_, d_blas_;
};

}  // namespace harness
