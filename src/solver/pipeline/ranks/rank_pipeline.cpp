// Each rank works off its stage's tasks by itself; who has to wait for whom follows from what crosses, in the order in
// which all pipelines take their micro-batches. So sums within a step, which the ranks of one stage make together, come
// in one order on all of them, and nobody waits in a circle.
#include "solver/pipeline/ranks/rank_pipeline.h"

#include <algorithm>
#include <chrono>

#include "robusta/error.h"

namespace robusta {

RankPipeline::~RankPipeline() { signal_->break_off(); }

void RankPipeline::carry(const std::vector<Couriers*>& couriers, int micro_batches, const std::function<void()>& work) {
  for (const std::shared_ptr<StageChannel>& channel : channels_) channel->clear();
  signal_->mend();
  for (Couriers* const group : couriers) {
    for (const std::unique_ptr<Courier>& courier : *group) courier->start(micro_batches);
  }
  try {
    work();
    const Ranks::Waiting waiting(ranks_);
    for (Couriers* const group : couriers) {
      for (const std::unique_ptr<Courier>& courier : *group) courier->wait();
    }
  } catch (const PipelineBroken&) {
    throw_what_broke(couriers);
  } catch (...) {
    signal_->break_off();
    throw;
  }
}

void RankPipeline::throw_what_broke(const std::vector<Couriers*>& couriers) const {
  for (const Couriers* const group : couriers) {
    for (const std::unique_ptr<Courier>& courier : *group) {
      if (const std::exception_ptr error = courier->error()) std::rethrow_exception(error);
    }
  }
  throw Error(ErrorKind::kInternal, "a pipeline has broken, and nobody says why", "please report this");
}

std::vector<double> RankPipeline::run(const PassOf& pass_of, const PipelineStage::BeforeLast& before_last) {
  std::vector<Pass> passes;
  for (int m = 0; m < micro_batches_ + stage_.copies(); ++m) passes.push_back(pass_of(m));
  const auto tasks = tasks_of_stage(order_, static_cast<int>(number_), ranks_.stages(), micro_batches_);
  std::vector<double> losses;
  const auto begin = std::chrono::steady_clock::now();
  carry({&forward_, &backward_}, micro_batches_,
        [&] { losses = stage_.run(tasks, passes, micro_batches_, before_last); });
  measure(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  last_was_iteration_ = true;
  return losses;
}

/// In the first iteration memory is touched.
void RankPipeline::measure(double seconds) {
  const bool first = iterations_++ == 0;
  const StageTimes times = stage_.take_times();
  waited_ += times.waiting;
  if (first) return;
  seconds_ += seconds;
  working_ += times.working;
}

double RankPipeline::forward(const Pass& pass) {
  double loss = 0;
  StageTimes unused;
  carry({&forward_}, 1, [&] { loss = stage_.copy_for(0).forward(pass, unused); });
  last_was_iteration_ = false;
  return loss;
}

double RankPipeline::test(size_t net, const Pass& pass) {
  StageNet* const own = stage_.test(net);
  if (!own) return 0;
  double loss = 0;
  StageTimes unused;
  carry({&tests_[net]}, 1, [&] { loss = own->forward(pass, unused); });
  return loss;
}

std::vector<OutputBlob> RankPipeline::read(const std::vector<Output>& outputs, StageNet* net) {
  std::vector<OutputBlob> blobs;
  for (const Output& output : outputs) {
    OutputBlob& blob = blobs.emplace_back(OutputBlob{output.name, {}, output.loss_weight});
    if (output.stage == number_) {
      const std::vector<float> values = net->net().blobs().read(output.name);
      blob.values.assign(values.begin(), values.end());
    } else {
      blob.values.assign(output.count, 0);
    }
  }
  return blobs;
}

std::vector<OutputBlob> RankPipeline::outputs() {
  return read(outputs_, &stage_.copy_for(last_was_iteration_ ? micro_batches_ - 1 : 0));
}

std::vector<OutputBlob> RankPipeline::test_outputs(size_t net) { return read(test_outputs_[net], stage_.test(net)); }

std::vector<std::vector<double>> RankPipeline::gather(const std::vector<double>& mine) {
  const auto stages = static_cast<size_t>(ranks_.stages());
  std::vector<double> all(stages * mine.size());
  {
    const Ranks::Waiting waiting(ranks_);
    ranks_.line().all_gather(mine.data(), mine.size() * sizeof(double), all.data());
  }
  std::vector<std::vector<double>> rows;
  for (size_t s = 0; s < stages; ++s) {
    const auto row = all.begin() + static_cast<ptrdiff_t>(s * mine.size());
    rows.emplace_back(row, row + static_cast<ptrdiff_t>(mine.size()));
  }
  return rows;
}

double RankPipeline::square_sum(const std::vector<double>& own) {
  size_t most = 0;
  for (const ParamPlace& place : places_) most = std::max(most, place.own.index() + 1);
  std::vector<double> mine = own;
  mine.resize(most);
  const std::vector<std::vector<double>> all = gather(mine);
  double sum = 0;
  for (const ParamPlace& place : places_) sum += all[place.stage][place.own.index()];
  return sum;
}

std::vector<Net*> RankPipeline::nets() {
  std::vector<Net*> nets;
  for (StageNet& copy : stage_.all_copies()) nets.push_back(&copy.net());
  for (size_t t = 0; t < tests_.size(); ++t) {
    if (StageNet* const test = stage_.test(t)) nets.push_back(&test->net());
  }
  return nets;
}

bool RankPipeline::stores(DType type) const { return own_.diagnostics().stores(type); }

void RankPipeline::set_loss_scale(double scale) {
  for (StageNet& copy : stage_.all_copies()) copy.net().set_loss_scale(scale);
}

double RankPipeline::seconds_waited() {
  double seconds = 0;
  for (StageNet& copy : stage_.all_copies()) seconds += copy.net().diagnostics().seconds_waited();
  return seconds;
}

RankPipeline::Traffic RankPipeline::traffic() const {
  Traffic traffic{.bytes = 0, .waited = waited_};
  for (const Couriers* const group : {&forward_, &backward_}) {
    for (const std::unique_ptr<Courier>& courier : *group) {
      if (courier->out()) traffic.bytes += courier->bytes();
    }
  }
  return traffic;
}

/// The mean of all pipelines. Collective.
std::string RankPipeline::describe_idle() {
  const double mine = seconds_ > 0 ? std::max(0.0, 1 - working_ / seconds_) : -1;
  const std::vector<double> all = ranks_.gather(mine);
  if (std::ranges::min(all) < 0) return describe_idle_stages(shape_, facts_, {});
  std::vector<double> shares(facts_.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto stage = static_cast<size_t>(ranks_.places().stage_of(static_cast<int>(rank)));
    shares[stage] += all[rank] / ranks_.places().pipelines();
  }
  return describe_idle_stages(shape_, facts_, shares);
}

}  // namespace robusta
