// Predicted by work that plans tell, measured by the time in which stages stood idle.
#include "solver/pipeline/pipeline_report.h"

#include "base/counted.h"
#include "base/percent.h"
#include "base/str.h"

namespace robusta {
namespace {

std::string pipelines_of(const PipelineShape& shape) {
  return shape.pipelines > 1 ? str(shape.pipelines, " pipelines of ") : "";
}

}  // namespace

double predicted_bubble(const PipelineShape& shape, std::span<const StageFacts> stages) {
  std::vector<StageWork> work;
  for (const StageFacts& stage : stages) work.push_back(stage.work);
  return timetable(shape.order, work, shape.micro_batches).bubble();
}

std::vector<std::string> describe_stages(const PipelineShape& shape, std::span<const StageFacts> stages) {
  const auto count = static_cast<int>(stages.size());
  double all = 0;
  for (const StageFacts& stage : stages) all += stage.work.forward + stage.work.backward;
  std::vector<std::string> lines;
  lines.push_back(str("Pipeline: ", pipelines_of(shape), counted(count, "stage"), ", ", name_of(shape.order), ", ",
                      shape.micro_batches, " micro-batches of ", shape.batch, " in an iteration"));
  for (int s = 0; s < count; ++s) {
    const StageFacts& stage = stages[static_cast<size_t>(s)];
    const double share = all > 0 ? (stage.work.forward + stage.work.backward) / all : 0;
    lines.push_back(str("  stage ", s, " on ", stage.place, ": layers ", stage.layers, ", ", stage.parameters,
                        " parameters, ", percent(share), " of the estimated work, activations of ", stage.copies,
                        stage.copies == 1 ? " micro-batch" : " micro-batches"));
  }
  lines.push_back(str("  bubble: ", percent(bubble_of_equal_stages(count, shape.micro_batches)),
                      " of the time if all stages take the same, ", percent(predicted_bubble(shape, stages)),
                      " by the estimated work"));
  return lines;
}

std::string describe_idle_stages(const PipelineShape& shape, std::span<const StageFacts> stages,
                                 std::span<const double> idle) {
  if (idle.empty()) return "Pipeline: too few iterations to measure how long the stages stood idle";
  std::string each;
  double sum = 0;
  for (const double share : idle) {
    each += (each.empty() ? "" : ", ") + percent(share);
    sum += share;
  }
  return str(
      "Pipeline: the stages stood idle for ", each, " of the time, ", percent(sum / static_cast<double>(idle.size())),
      " in the mean; predicted: ", percent(bubble_of_equal_stages(static_cast<int>(idle.size()), shape.micro_batches)),
      " for equal stages, ", percent(predicted_bubble(shape, stages)), " by the estimated work");
}

}  // namespace robusta
