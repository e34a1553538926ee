/// The ways to run an iteration: gradients of iter_size batches, and the update of all parameters.
///
///   alone         forward, backward, batch by batch; a parameter is updated as soon as its gradient is complete
///   alone, ahead  on a GPU: backward and the next batch are enqueued before the host waits for the loss; the next
///                 forward pass begins with the update
///   over ranks    gradients are summed over the ranks while backward goes on (ranks/sums/ranked_update.h)
///   over ranks, ahead  on GPUs: the same, as alone; the loss is waited for when backward and all sums but the last are
///                 enqueued
///   apart         the same within a group, as often as parameter servers say (apart_strategy.cpp)
///   pipelined     micro-batches go through the stages of several devices (pipeline/devices/device_pipeline.h)
///   staged        the same where ranks have a stage each (pipeline/ranks/rank_pipeline.h)
///   serving       no pass at all: gradients come from groups of ranks, which get weights (server_strategy.cpp)
///
/// Each updates either as gradients come or, where the iteration holds, when all of them are there: clipping needs the
/// norm of all, a loss scale has to know whether all are finite, debug_info shows parameters before they move, and a
/// policy that looks at the loss needs that of all ranks. Bits are the same either way.
#pragma once

#include <functional>
#include <memory>

#include "solver/loop/train_passes.h"
#include "solver/loop/training.h"
#include "solver/pipeline/devices/device_pipeline.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/ranks/votes.h"

namespace robusta {

/// What is decided before an iteration.
struct Iteration {
  bool debug = false;            ///< every layer's values are logged
  bool look = false;             ///< TensorBoard is shown the parameters, before and after they move
  bool shows_gradients = false;  ///< to somebody who wants all of them, before parameters move. REQUIRES: hold
  bool hold = false;             ///< no parameter is updated before all gradients are there
  bool goes_on = false;          ///< another one follows, and nobody looks at parameters before unless finish_updates()
};

class IterationStrategy {
 public:
  /// What this rank asks for: stop, snapshot, out_of_time.
  using OwnVotes = std::function<Votes()>;

  virtual ~IterationStrategy() = default;
  /// Whether an iteration has to hold, for reasons of the way it runs.
  virtual bool must_hold() const { return false; }
  /// Forward and backward of all batches. The state then has the loss of the iteration, of all ranks. Returns what all
  /// ranks vote for. Throws Error{kNumeric} when the loss is not finite.
  virtual Votes run(const Iteration& iteration) = 0;
  /// After run(): updates what the next iteration does not find time for.
  virtual void end(const Iteration& iteration) = 0;
  /// Waits for updates that are under way, after which all ranks have the same weights. Collective.
  virtual void finish_updates() = 0;
  /// Seconds of reductions since the last call.
  virtual BucketReducer::Times take_times() { return {}; }
};

/// For a rank alone. `passes` is kept by reference.
std::unique_ptr<IterationStrategy> make_alone_strategy(Training& training, TrainPasses& passes,
                                                       IterationStrategy::OwnVotes votes);
/// For the stages of a pipeline on devices of this process: training.pipeline.
std::unique_ptr<IterationStrategy> make_pipelined_strategy(Training& training, TrainPasses& passes,
                                                           DevicePipeline& pipeline, IterationStrategy::OwnVotes votes);
/// For a stage on this rank: training.over_ranks. `ranked`: null where no other rank has the same one.
std::unique_ptr<IterationStrategy> make_staged_strategy(Training& training, TrainPasses& passes, RankedUpdate* ranked,
                                                        IterationStrategy::OwnVotes votes);
/// For one of several.
std::unique_ptr<IterationStrategy> make_ranked_strategy(Training& training, TrainPasses& passes, RankedUpdate& ranked,
                                                        IterationStrategy::OwnVotes votes);

/// For one of a group that is not in step with the others.
std::unique_ptr<IterationStrategy> make_apart_strategy(Training& training, TrainPasses& passes, RankedUpdate& ranked,
                                                       IterationStrategy::OwnVotes votes);
/// For a parameter server; `sum` is a ServedSum.
std::unique_ptr<IterationStrategy> make_server_strategy(Training& training, std::unique_ptr<BucketSum> sum);

/// One of several updates of an iteration.
struct PartialUpdate {
  double rate_factor = 1;
  int64_t number = 0;  ///< of all such updates
};

/// The numbers of the iteration's update; its rate is the training's from here on.
Updater::Iteration update_numbers(Training& training);
/// The rate of the iteration, which begins to update.
void begin_updates(Training& training, bool hold);
void begin_updates(Training& training, const PartialUpdate& partial);

}  // namespace robusta
