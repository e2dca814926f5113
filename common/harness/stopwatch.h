// Timing of GPU work that alternates with its rivals on one stream.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

namespace harness {

/// Something to be timed. `enqueue` starts one call on the stopwatch's stream, on set `set` of its operands.
struct Contestant {
  std::function<void(int set)> enqueue;
  double estimate_s = 0;  ///< of one call, from its last slice; 0: not known yet
};

class Stopwatch {
 public:
  /// Calls go through `sets` sets of operands in turn, so that none finds its own still in L2.
  Stopwatch(int sets, cudaStream_t stream);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Seconds per call of `timed` calls, which follow `untimed` ones.
  double time_calls(const Contestant& contestant, int untimed, int timed);

  /// Enqueues an event that is never read: what is enqueued next begins when all before has ended.
  void separate();

  /// Seconds per call in a slice of about so many seconds, at least three calls. Its first third is not timed: it
  /// belongs to the clock and the caches that the previous contestant left behind.
  double time_slice(Contestant& contestant, double seconds);

  /// Runs all contestants until clocks and temperature have settled, which is when the first takes as long as in the
  /// previous pass; at least `shortest` and at most `longest` seconds.
  void warm_up(std::vector<Contestant>& contestants, double shortest, double longest);

  /// Seconds per call, as result[contestant][round]. In a round each contestant gets two slices, the second in reverse
  /// order, so that a steady drift cancels; the order changes from round to round. `announce` is told each round.
  std::vector<std::vector<double>> time_rounds(std::vector<Contestant>& contestants, int rounds, double budget_s,
                                               const std::function<void(int round)>& announce);

 private:
  int sets_, next_set_ = 0;
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr, between_ = nullptr;
};

}  // namespace harness
