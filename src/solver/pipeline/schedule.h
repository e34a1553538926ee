/// In which order the stages of a pipeline work on the micro-batches of an iteration, and how long they stand idle.
///
/// GPipe: all forward passes, then all backward passes (Huang et al. 2019, "GPipe: Efficient Training of Giant Neural
/// Networks using Pipeline Parallelism", section 2.3). 1F1B: stage k of S begins with S - 1 - k forward passes, goes on
/// with one forward and one backward pass in turns, and ends with the backward passes that are left (PipeDream-Flush:
/// Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", section
/// 2.2). Both stand idle for as long; 1F1B keeps the activations of S - k passes at most, GPipe of all.
///
/// Each stage takes micro-batches in their order, backward too, so that gradients are added as `iter_size` adds them on
/// one device. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace robusta {

enum class PipelineOrder { kGPipe, kOneForwardOneBackward };

/// "gpipe" or "1f1b". Throws Error{kUsage} for another name.
PipelineOrder pipeline_order_named(const std::string& name);
std::string name_of(PipelineOrder order);

/// A pass of one stage.
struct PipelineTask {
  bool backward = false;
  int micro_batch = 0;
  bool operator==(const PipelineTask&) const = default;
};

/// What a stage does in an iteration, in this order.
std::vector<PipelineTask> tasks_of_stage(PipelineOrder order, int stage, int stages, int micro_batches);

/// Of how many micro-batches the stage has run forward and not yet backward, at most.
int passes_in_flight(PipelineOrder order, int stage, int stages, int micro_batches);

/// How long a stage takes for one micro-batch, in any unit.
struct StageWork {
  double forward = 1, backward = 1;
};

/// When each task runs if copies take no time.
struct Timetable {
  struct Entry {
    PipelineTask task;
    double begin = 0, end = 0;
  };
  std::vector<std::vector<Entry>> stages;
  double length = 0;

  /// The share of the time in which a stage stands idle, and the mean of all stages: the bubble.
  double idle(int stage) const;
  double bubble() const;
};

Timetable timetable(PipelineOrder order, std::span<const StageWork> stages, int micro_batches);

/// (S - 1) / (M + S - 1): the bubble of S stages that take the same time.
double bubble_of_equal_stages(int stages, int micro_batches);

}  // namespace robusta
