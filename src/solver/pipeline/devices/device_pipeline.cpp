// The order of a synchronous pipeline: all micro-batches pass, then all stages update (Huang et al. 2019, section 2.3):
// no stage ever sees weights of two iterations, and the result is that of one device with iter_size.
#include "solver/pipeline/devices/device_pipeline.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <optional>

#include "base/log.h"
#include "net/run/arrays.h"

namespace robusta {

std::vector<DevicePipeline::PlaceOfParam> DevicePipeline::find_places() const {
  std::vector<PlaceOfParam> found;
  for (const ParamId w : whole_net_.params().ids()) {
    const Param& param = *whole_net_.params()[w];
    for (size_t s = 0; s < stages_.size(); ++s) {
      const auto& own = stages_[s]->net().params();
      for (const ParamId p : own.ids()) {
        if (own[p]->layer == param.layer && own[p]->index == param.index) found.push_back({w, s, p});
      }
    }
  }
  return found;
}

namespace {

/// As a net's updater counts them: all first ones, then all second ones.
HistoryId history_of(const Net& net, int kind, ParamId param) {
  return HistoryId(static_cast<size_t>(kind) * net.params().size() + param.index());
}

}  // namespace

void DevicePipeline::scatter() {
  begin_averages(whole_);
  for (const auto& [whole, number, own] : places_) {
    DeviceStage& stage = *stages_[number];
    Net& net = stage.net();
    Param& param = *net.params()[own];
    const Param& from = *whole_net_.params()[whole];
    store_array(net.stream(), param.tensor(), from.data);
    ++param.version;
    for (int kind = 0; kind < kinds_of_history(); ++kind) {
      stage.updater->set_history(history_of(net, kind, own), whole_.history(history_of(whole_net_, kind, whole)));
    }
    if (!has_averages()) continue;
    const Tensor average = stage.updater->average()->average_of(param);
    if (average) store_array(net.stream(), average, whole_.average()->average_of(from).data);
  }
}

void DevicePipeline::gather() {
  begin_averages(*stages_[0]->updater);
  for (const auto& [whole, number, own] : places_) {
    DeviceStage& stage = *stages_[number];
    Net& net = stage.net();
    const Param& param = *net.params()[own];
    Param& to = *whole_net_.params()[whole];
    fetch_array(net.stream(), param.tensor(), to.data);
    ++to.version;
    if (solver_.param.snapshot_diff()) fetch_array(net.stream(), param.gradient(), to.diff);
    for (int kind = 0; kind < kinds_of_history(); ++kind) {
      whole_.set_history(history_of(whole_net_, kind, whole), stage.updater->history(history_of(net, kind, own)));
    }
    if (!has_averages()) continue;
    const Tensor average = stage.updater->average()->average_of(param);
    if (average) fetch_array(net.stream(), average, whole_.average()->average_of(to).data);
  }
}

/// Where there are averages of weights, and `from` has begun them, all have.
void DevicePipeline::begin_averages(Updater& from) {
  if (!from.average() || !from.average()->begun()) return;
  const auto begin = [](Updater& updater) {
    if (!updater.average()->begun()) updater.average()->restart();
  };
  begin(whole_);
  for (const std::unique_ptr<DeviceStage>& stage : stages_) begin(*stage->updater);
}

bool DevicePipeline::has_averages() const { return whole_.average() && whole_.average()->begun(); }

int DevicePipeline::kinds_of_history() const {
  return whole_.histories() / static_cast<int>(whole_net_.params().size());
}

/// Waits for all, whatever happens to one.
void DevicePipeline::on_all(const std::function<void(DeviceStage& stage, size_t number)>& job) {
  std::exception_ptr first;  // guarded by signal_.mutex
  const auto fail = [&] {
    {
      const std::lock_guard lock(signal_.mutex);
      if (!first) first = std::current_exception();
    }
    signal_.break_off();
  };
  for (size_t s = 0; s < stages_.size(); ++s) {
    stages_[s]->thread.start([&, s] {
      try {
        job(*stages_[s], s);
      } catch (const PipelineBroken&) {
        // Whoever broke it has said why.
      } catch (...) {
        fail();
      }
    });
  }
  for (const std::unique_ptr<DeviceStage>& stage : stages_) stage->thread.wait();
  if (first) std::rethrow_exception(first);
}

std::vector<double> DevicePipeline::run(const PassOf& pass_of) {
  const int most = stages_[0]->copies();  // no stage has more
  std::vector<Pass> passes;
  for (int m = 0; m < micro_batches_ + most; ++m) passes.push_back(pass_of(m));
  std::vector<std::vector<double>> losses(stages_.size());
  prepare_channels();
  const auto begin = std::chrono::steady_clock::now();
  on_all([&](DeviceStage& stage, size_t s) {
    const auto tasks =
        tasks_of_stage(options_.order, static_cast<int>(s), static_cast<int>(stages_.size()), micro_batches_);
    losses[s] = stage.run(tasks, passes, micro_batches_);
  });
  measure(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  last_was_iteration_ = true;
  std::vector<double> sums(static_cast<size_t>(micro_batches_));
  for (const std::vector<double>& own : losses) {
    for (size_t m = 0; m < own.size(); ++m) sums[m] += own[m];
  }
  return sums;
}

/// An iteration that failed may have left something in them.
void DevicePipeline::prepare_channels() {
  for (const std::unique_ptr<StageChannel>& channel : channels_) channel->clear();
  signal_.mend();
}

/// In the first iteration kernels are loaded and memory is touched.
void DevicePipeline::measure(double seconds) {
  const bool first = iterations_++ == 0;
  if (!first) seconds_ += seconds;
  for (size_t s = 0; s < stages_.size(); ++s) {
    const StageTimes times = stages_[s]->take_times();
    if (!first) working_[s] += times.working;
  }
}

void DevicePipeline::update(Updater::Iteration numbers) {
  if (whole_.clips() || numbers.loss_scale > 0) numbers.square_sum = square_sum_of_gradients();
  on_all([&](DeviceStage& stage, size_t s) {
    // All say the same of clipping.
    std::optional<QuietLog> quiet;
    if (s > 0) quiet.emplace();
    stage.updater->begin(numbers);
    stage.updater->finish();
    stage.net().stream().synchronize();
  });
}

/// In the order of the whole net's parameters: the sum is that of one device, to the last bit.
double DevicePipeline::square_sum_of_gradients() {
  std::vector<std::vector<double>> of_stages(stages_.size());
  on_all([&](DeviceStage& stage, size_t s) { of_stages[s] = stage.updater->square_sums_of_gradients(); });
  double sum = 0;
  for (const auto& [whole, stage, own] : places_) sum += of_stages[stage][own.index()];
  return sum;
}

double DevicePipeline::forward_all(const std::function<StageNet*(PipelineStage&)>& net_of, const Pass& pass) {
  std::vector<double> losses(stages_.size());
  prepare_channels();
  on_all([&](DeviceStage& stage, size_t s) {
    StageTimes unused;
    if (StageNet* const net = net_of(stage)) losses[s] = net->forward(pass, unused);
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

double DevicePipeline::forward(const Pass& pass) {
  last_was_iteration_ = false;
  return forward_all([](PipelineStage& stage) { return &stage.copy_for(0); }, pass);
}

double DevicePipeline::test(size_t net, const Pass& pass) {
  return forward_all([net](PipelineStage& stage) { return stage.test(net); }, pass);
}

std::vector<OutputBlob> DevicePipeline::read(const CutNet& cut,
                                             const std::function<StageNet*(PipelineStage&)>& net_of) {
  std::vector<OutputBlob> outputs;
  for (size_t s = 0; s < stages_.size(); ++s) {
    for (const std::string& name : cut.pieces.outputs[s]) {
      Blobs& blobs = net_of(*stages_[s])->net().blobs();
      const std::vector<float> values = blobs.read(name);
      outputs.push_back({name, {values.begin(), values.end()}, blobs.loss_weight(name)});
    }
  }
  std::ranges::sort(outputs, {}, &OutputBlob::name);
  return outputs;
}

std::vector<OutputBlob> DevicePipeline::outputs() {
  const int last = last_was_iteration_ ? micro_batches_ - 1 : 0;
  return read(cut_.train, [last](PipelineStage& stage) { return &stage.copy_for(last); });
}

std::vector<OutputBlob> DevicePipeline::test_outputs(size_t net) {
  return read(cut_.tests[net], [net](PipelineStage& stage) { return stage.test(net); });
}

std::vector<double> DevicePipeline::idle() const {
  std::vector<double> shares;
  if (seconds_ <= 0) return shares;
  for (const double working : working_) shares.push_back(std::max(0.0, 1 - working / seconds_));
  return shares;
}

PipelineShape DevicePipeline::shape() const {
  return {.order = options_.order, .micro_batches = micro_batches_, .batch = whole_net_.batch()};
}

std::vector<StageFacts> DevicePipeline::facts() {
  std::vector<StageFacts> all;
  for (size_t s = 0; s < stages_.size(); ++s) {
    PipelineStage& stage = *stages_[s];
    all.push_back({.place = options_.stages[s].device->name(),
                   .layers = layers_of(cut_.train.pieces, s),
                   .parameters = elements_of(stage.net()),
                   .work = stage.predicted_work(),
                   .copies = stage.copies()});
  }
  return all;
}

bool DevicePipeline::stores(DType type) const {
  return std::ranges::any_of(stages_, [type](const auto& stage) { return stage->net().diagnostics().stores(type); });
}

void DevicePipeline::set_loss_scale(double scale) {
  for (const std::unique_ptr<DeviceStage>& stage : stages_) {
    for (StageNet& copy : stage->all_copies()) copy.net().set_loss_scale(scale);
  }
}

bool DevicePipeline::skipped() const { return stages_[0]->updater->skipped(); }

double DevicePipeline::seconds_waited() {
  double seconds = 0;
  for (const std::unique_ptr<DeviceStage>& stage : stages_) {
    for (StageNet& copy : stage->all_copies()) seconds += copy.net().diagnostics().seconds_waited();
  }
  return seconds;
}

}  // namespace robusta
