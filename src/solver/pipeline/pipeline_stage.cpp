// A copy of the net reads its micro-batches alone, so its sources are told which of them comes next: they fetch that
// while the copy waits.
#include "solver/pipeline/pipeline_stage.h"

#include <algorithm>

#include "base/log.h"
#include "net/plan/step_cost.h"

namespace robusta {

int64_t elements_of(const Net& net) {
  int64_t count = 0;
  for (const ParamPtr& param : net.params()) count += param->desc.count();
  return count;
}

DataSettings data_of_copy(DataSettings settings, int copies) {
  settings.threads = std::max(1, data_threads(settings) / copies);
  return settings;
}

namespace {

/// A budget knows of one arena, which all nets use in turn: that of the last copy.
void charge_arena(const Net& net) {
  if (net.options().budget) net.options().budget->taken += net.plan().arena_bytes;
}

}  // namespace

void PipelineStage::build(const NetDef& net, const NetOptions& options, int copies) {
  NetOptions first = options;
  first.data = data_of_copy(options.data, copies);
  add_copy(net, first);
  first.share_params = &this->net();
  for (int i = 1; i < copies; ++i) add_copy(net, first);
}

void PipelineStage::build(const NetDef& net, Net& first, int copies) {
  copies_.emplace_back(first);
  NetOptions options = first.options();
  options.share_params = &first;
  // Parameters, and what their gradients lie in, are the first one's.
  options.gradient_memory = nullptr;
  options.gradient_tail = 0;
  options.arena = nullptr;
  for (int i = 1; i < copies; ++i) add_copy(net, options);
}

void PipelineStage::add_copy(const NetDef& net, NetOptions options) {
  const QuietLog quiet;  // the whole net has said it all
  if (!copies_.empty()) charge_arena(copies_.back().net());
  copies_.emplace_back(std::make_unique<Net>(net, std::move(options)));
}

void PipelineStage::add_test(const NetDef& net, NetOptions options) {
  if (net.param.layer_size() == 0) {
    tests_.push_back(nullptr);
    return;
  }
  const QuietLog quiet;
  options.share_params = &this->net();
  options.arena = copies_.back().net().options().arena;  // tests run between iterations
  tests_.push_back(std::make_unique<StageNet>(std::make_unique<Net>(net, std::move(options))));
}

Pass PipelineStage::with_next(std::span<const Pass> passes, int micro_batch, int micro_batches) const {
  const int next =
      micro_batch + copies() < micro_batches ? micro_batch + copies() : micro_batches + micro_batch % copies();
  Pass pass = passes[static_cast<size_t>(micro_batch)];
  pass.next_sample = passes[static_cast<size_t>(next)].first_sample;
  return pass;
}

std::vector<double> PipelineStage::run(std::span<const PipelineTask> tasks, std::span<const Pass> passes,
                                       int micro_batches, const BeforeLast& before_last) {
  std::vector<double> losses(static_cast<size_t>(micro_batches));
  for (const auto& [backward, micro_batch] : tasks) {
    StageNet& copy = copy_for(micro_batch);
    const Pass pass = with_next(passes, micro_batch, micro_batches);
    if (backward) {
      const bool last = micro_batch + 1 == micro_batches;
      copy.backward(pass, micro_batch > 0, times_, last && before_last ? before_last(losses) : nullptr);
    } else {
      losses[static_cast<size_t>(micro_batch)] = copy.forward(pass, times_);
    }
  }
  return losses;
}

StageWork PipelineStage::predicted_work() {
  const Plan& plan = net().plan();
  StageWork work{0, 0};
  for (const Step& step : plan.steps) {
    const double seconds = step_seconds(net().graph(), plan, step, net().options().rates);
    (step.in_backward ? work.backward : work.forward) += seconds;
  }
  return work;
}

}  // namespace robusta
