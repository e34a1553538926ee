// A copy of the net reads its micro-batches alone, so its sources are told which of them comes next: they fetch that
// while the copy waits.
#include "solver/pipeline/pipeline_stage.h"

#include <algorithm>

#include "base/log.h"
#include "net/plan/step_cost.h"

namespace robusta {

void PipelineStage::build(const NetDef& net, const NetOptions& options, int copies) {
  const QuietLog quiet;  // the whole net has said it all
  for (int i = 0; i < copies; ++i) {
    NetOptions own = options;
    own.data.threads = std::max(1, data_threads(options.data) / copies);  // each has sources of its own
    if (i > 0) own.share_params = &copies_[0].net();
    copies_.emplace_back(std::make_unique<Net>(net, own));
    // A budget knows of one arena, which all nets use in turn: that of the last copy.
    if (options.budget && i + 1 < copies) options.budget->taken += copies_.back().net().plan().arena_bytes;
  }
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

void PipelineStage::make_updater(const SolverDef& solver) { updater_ = std::make_unique<Updater>(solver, net()); }

Pass PipelineStage::with_next(std::span<const Pass> passes, int micro_batch, int micro_batches) const {
  const int next =
      micro_batch + copies() < micro_batches ? micro_batch + copies() : micro_batches + micro_batch % copies();
  Pass pass = passes[static_cast<size_t>(micro_batch)];
  pass.next_sample = passes[static_cast<size_t>(next)].first_sample;
  return pass;
}

std::vector<double> PipelineStage::run(std::span<const PipelineTask> tasks, std::span<const Pass> passes,
                                       int micro_batches) {
  std::vector<double> losses(static_cast<size_t>(micro_batches));
  for (const auto& [backward, micro_batch] : tasks) {
    StageNet& copy = copy_for(micro_batch);
    const Pass pass = with_next(passes, micro_batch, micro_batches);
    if (backward) {
      copy.backward(pass, micro_batch > 0, times_);
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
