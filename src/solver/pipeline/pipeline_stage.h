/// A stage of a pipeline: its part of the nets on its device, as many copies of the train net as passes are in flight.
///
/// The copies share their parameters and gradients; each has memory of its own for activations. Test nets use the
/// parameters, too, and the memory of the last copy. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solver/pipeline/schedule.h"
#include "solver/pipeline/stage_net.h"

namespace robusta {

class PipelineStage {
 public:
  PipelineStage() = default;
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;

  // In this order, on the thread that will run it. Throw Error with file and line.

  void build(const NetDef& net, const NetOptions& options, int copies);
  /// The same where the first copy is there: it is kept by reference.
  void build(const NetDef& net, Net& first, int copies);
  /// `net` may have no layers.
  void add_test(const NetDef& net, NetOptions options);

  int copies() const { return static_cast<int>(copies_.size()); }
  /// That of a micro-batch.
  StageNet& copy_for(int micro_batch) { return copies_[static_cast<size_t>(micro_batch) % copies_.size()]; }
  std::span<StageNet> all_copies() { return copies_; }
  /// Null where the test net has no layers here.
  StageNet* test(size_t net) { return tests_[net].get(); }
  Net& net() { return copies_[0].net(); }

  /// Told the losses of all micro-batches before the last backward pass, which tells whom it returns of the gradients
  /// as they are complete: nobody, where that is null.
  using BeforeLast = std::function<GradientSink*(std::span<const double> losses)>;
  /// An iteration's passes. `passes`: of all its micro-batches, and of as many of the next iteration as there are
  /// copies. Returns the loss of each micro-batch.
  std::vector<double> run(std::span<const PipelineTask> tasks, std::span<const Pass> passes, int micro_batches,
                          const BeforeLast& before_last = {});
  /// Seconds since the last call.
  StageTimes take_times() { return std::exchange(times_, {}); }
  /// By the plan: of one micro-batch.
  StageWork predicted_work();

 private:
  void add_copy(const NetDef& net, NetOptions options);
  Pass with_next(std::span<const Pass> passes, int micro_batch, int micro_batches) const;

  std::vector<StageNet> copies_;
  std::vector<std::unique_ptr<StageNet>> tests_;
  StageTimes times_;
};

/// Of all parameters together.
int64_t elements_of(const Net& net);

/// What each of so many copies of a net may take of the threads that read data: each has sources of its own.
DataSettings data_of_copy(DataSettings settings, int copies);

}  // namespace robusta
