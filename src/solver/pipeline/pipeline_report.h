/// What a pipeline is expected to lose, and what it has lost, in words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "solver/pipeline/schedule.h"

namespace robusta {

/// What is told of a stage.
struct StageFacts {
  std::string place;   ///< "GPU 0", "rank 1 on node2"
  std::string layers;  ///< "conv1 to pool2"
  int64_t parameters = 0;
  StageWork work = {};  ///< of one micro-batch, as its plan tells
  int copies = 1;       ///< micro-batches in flight
};

/// What stages have in common.
struct PipelineShape {
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
  int micro_batches = 1;
  int64_t batch = 1;  ///< samples of a micro-batch
  int pipelines = 1;  ///< that train data parallel
};

std::vector<std::string> describe_stages(const PipelineShape& shape, std::span<const StageFacts> stages);

/// `idle`: the share of the time in which each stage stood idle; none: too few iterations have run.
std::string describe_idle_stages(const PipelineShape& shape, std::span<const StageFacts> stages,
                                 std::span<const double> idle);

/// The bubble that is to be expected of this work.
double predicted_bubble(const PipelineShape& shape, std::span<const StageFacts> stages);

}  // namespace robusta
