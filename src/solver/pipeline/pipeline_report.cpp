// What a pipeline is expected to lose, and what it has lost: predicted by work that plans tell, measured by the time in
// which stages stood idle.
#include <algorithm>

#include "base/counted.h"
#include "base/percent.h"
#include "base/str.h"
#include "solver/pipeline/pipeline.h"

namespace robusta {
namespace {

int64_t elements_of(const Net& net) {
  int64_t count = 0;
  for (const ParamPtr& param : net.params()) count += param->desc.count();
  return count;
}

/// "conv1 to pool2"
std::string layers_of(const Net& net, const std::vector<std::string>& inputs) {
  std::string first, last;
  for (const Node& node : net.graph().nodes) {
    const std::string& name = node.layer->name();
    if (std::ranges::count(inputs, name) > 0) continue;
    if (first.empty()) first = name;
    last = name;
  }
  return first == last ? first : first + " to " + last;
}

}  // namespace

std::vector<StageWork> Pipeline::predicted_work() {
  std::vector<StageWork> work;
  for (const std::unique_ptr<PipelineStage>& stage : stages_) work.push_back(stage->predicted_work());
  return work;
}

double Pipeline::predicted_bubble() { return timetable(options_.order, predicted_work(), micro_batches_).bubble(); }

std::vector<std::string> Pipeline::describe() {
  const auto count = static_cast<int>(stages_.size());
  const std::vector<StageWork> work = predicted_work();
  double all = 0;
  for (const StageWork& own : work) all += own.forward + own.backward;
  std::vector<std::string> lines;
  lines.push_back(str("Pipeline: ", counted(count, "stage"), ", ", name_of(options_.order), ", ", micro_batches_,
                      " micro-batches of ", whole_net_.batch(), " in an iteration"));
  for (size_t s = 0; s < stages_.size(); ++s) {
    const Net& net = stages_[s]->net();
    const double share = all > 0 ? (work[s].forward + work[s].backward) / all : 0;
    lines.push_back(str("  stage ", s, " on ", options_.stages[s].device->name(), ": layers ",
                        layers_of(net, inputs_[s]), ", ", elements_of(net), " parameters, ", percent(share),
                        " of the estimated work, activations of ", stages_[s]->copies(),
                        stages_[s]->copies() == 1 ? " micro-batch" : " micro-batches"));
  }
  lines.push_back(str("  bubble: ", percent(bubble_of_equal_stages(count, micro_batches_)),
                      " of the time if all stages take the same, ", percent(predicted_bubble()),
                      " by the estimated work"));
  return lines;
}

std::vector<double> Pipeline::idle() const {
  std::vector<double> shares;
  if (seconds_ <= 0) return shares;
  for (const double working : working_) shares.push_back(std::max(0.0, 1 - working / seconds_));
  return shares;
}

std::string Pipeline::describe_idle() {
  const std::vector<double> shares = idle();
  if (shares.empty()) return "Pipeline: too few iterations to measure how long the stages stood idle";
  std::string each;
  double sum = 0;
  for (const double share : shares) {
    each += (each.empty() ? "" : ", ") + percent(share);
    sum += share;
  }
  return str(
      "Pipeline: the stages stood idle for ", each, " of the time, ", percent(sum / static_cast<double>(shares.size())),
      " in the mean; predicted: ", percent(bubble_of_equal_stages(static_cast<int>(shares.size()), micro_batches_)),
      " for equal stages, ", percent(predicted_bubble()), " by the estimated work");
}

}  // namespace robusta
