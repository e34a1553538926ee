/// How kernels of the CPU sum what they write, of channels that come last (result_sums.h): each thread in double what
/// it has summed in f32 over some thousand pixels, or a row of them; what the threads have is then added in their
/// order. So the last bits depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "layers/kit/scratch_plan.h"

namespace robusta {

class SummedResults {
 public:
  /// In scratch memory, of which the plan is told.
  SummedResults(int64_t channels, int64_t workers, ScratchPlan& plan)
      : channels_(channels),
        workers_(workers),
        at_(plan.add_for_each(workers, 2 * static_cast<size_t>(channels) * sizeof(double))) {}

  /// Each worker begins with that.
  void clear(int64_t worker, void* scratch) const { std::fill_n(of(worker, scratch), 2 * channels_, 0.0); }

  /// sum(channel) and square(channel), in floats, of `channels` that begin with `first`.
  template <typename Sum, typename Square>
  void add(int64_t worker, void* scratch, int64_t first, int64_t channels, const Sum& sum, const Square& square) const {
    double *sums = of(worker, scratch) + first, *squares = sums + channels_;
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += static_cast<double>(sum(c));
      squares[c] += static_cast<double>(square(c));
    }
  }

  /// Once all workers are done: the sums, then those of the squares.
  void hand_over(void* scratch, float* sums) const {
    constexpr int64_t kGrain = 512;
    parallel_for(2 * channels_, kGrain, [=, this](int64_t i) {
      double sum = 0;
      for (int64_t worker = 0; worker < workers_; ++worker) sum += of(worker, scratch)[i];
      sums[i] = static_cast<float>(sum);
    });
  }

 private:
  double* of(int64_t worker, void* scratch) const { return at_.of<double>(worker, scratch); }

  int64_t channels_, workers_;
  WorkerScratch at_;
};

}  // namespace robusta
