// Tags are "phase/what": TensorBoard makes a section of each phase.

#include "solver/reports/tensorboard/tensorboard.h"

#include <cmath>

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"
#include "solver/reports/tensorboard/event_file.h"
#include "solver/reports/tensorboard/graph_def.h"
#include "solver/reports/tensorboard/summaries.h"

namespace robusta {
namespace {

/// "train/output/loss", "train/output/prob[3]": as -log_json calls them.
void add_outputs(tensorboard::Summary& summary, const std::string& phase, const std::vector<OutputBlob>& outputs) {
  for (const OutputBlob& blob : outputs) {
    for (size_t i = 0; i < blob.values.size(); ++i)
      add_scalar(summary, phase + "/output/" + blob.key(i), blob.values[i]);
  }
}

/// "conv1/0", or "conv1/weights" where the net names its parameters.
std::string tag_of(const Param& param) { return param.layer + '/' + param.display_name; }

std::vector<const Param*> learned(const Net& net) {
  std::vector<const Param*> params;
  for (const ParamPtr& param : net.params()) {
    if (param->learns) params.push_back(param.get());
  }
  return params;
}

double l2_norm(std::span<const float> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// log10 |step / weight| of each weight that both moves and is not 0.
std::vector<float> log_ratios(std::span<const float> steps, std::span<const float> weights) {
  std::vector<float> ratios;
  ratios.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != 0 && weights[i] != 0) ratios.push_back(std::log10(std::abs(steps[i] / weights[i])));
  }
  return ratios;
}

}  // namespace

TensorBoard::TensorBoard(const TensorBoardOptions& options, const SolverDef& def, Net& net)
    : settings_(def.param), net_(net), file_(std::make_unique<EventFile>(options.folder, net.name())) {
  LOG_INFO << "Events for TensorBoard go to " << file_->run();
}

TensorBoard::~TensorBoard() {
  try {
    if (is_going_on_) end(latest_, "error");
  } catch (const Error&) {  // of writing: the training has failed for a reason of its own
  }
}

void TensorBoard::start(const TrainingLog::Start& s) {
  is_going_on_ = true;
  tensorboard::Summary summary;
  const std::pair<std::string, double> more[] = {{"batch", s.batch}, {"ranks", s.ranks}, {"seed", s.seed}};
  add_hparams(summary, settings_, more);
  write(s.iter, summary);
  tensorboard::Event event;
  event.set_graph_def(graph_def(net_.graph()).SerializeAsString());
  file_->write(s.iter, event);
}

void TensorBoard::train(const TrainingLog::Train& t) {
  tensorboard::Summary summary;
  add_scalar(summary, "train/loss", t.loss);
  add_scalar(summary, "train/lr", t.rate);
  add_outputs(summary, "train", t.outputs);
  add_scalar(summary, "speed/images_per_second", t.speed.samples_per_second());
  add_scalar(summary, "speed/iterations_per_second", t.speed.iterations_per_second());
  add_scalar(summary, "speed/data_wait", t.speed.waited_share());
  if (t.ranks > 1) add_scalar(summary, "speed/communication", t.speed.exposed_share());
  if (t.loss_scale.active()) add_scalar(summary, "train/loss_scale", t.loss_scale.value);
  write(t.iter, summary);
}

void TensorBoard::test(const TrainingLog::Test& t, const std::vector<OutputBlob>& means) {
  std::string phase = t.averaged ? "averaged_test" : "test";
  if (t.net > 0) phase += str('_', t.net);
  tensorboard::Summary summary;
  if (t.with_loss) add_scalar(summary, phase + "/loss", t.loss);
  add_outputs(summary, phase, means);
  write(t.iter, summary);
}

void TensorBoard::final_loss(int iter, double loss) {
  tensorboard::Summary summary;
  add_scalar(summary, "train/loss", loss);
  write(iter, summary);
}

void TensorBoard::end(int iter, const std::string& reason) {
  is_going_on_ = false;
  tensorboard::Summary summary;
  add_session_end(summary, reason == "max_iter");
  write(iter, summary);
}

void TensorBoard::before_updates(int iter, double scale) {
  tensorboard::Summary summary;
  before_.clear();
  for (const Param* param : learned(net_)) {
    before_.push_back(net_.blobs().read_param(*param));
    add_histogram(summary, "weights/" + tag_of(*param), before_.back());
    std::vector<float> gradient = net_.blobs().read_param_diff(*param);
    for (float& value : gradient) value = static_cast<float>(value * scale);
    add_histogram(summary, "gradients/" + tag_of(*param), gradient);
  }
  write(iter, summary);
}

void TensorBoard::after_updates(int iter) {
  tensorboard::Summary summary;
  size_t at = 0;
  for (const Param* param : learned(net_)) {
    const std::vector<float>& weights = before_[at++];
    std::vector<float> steps = net_.blobs().read_param(*param);
    for (size_t i = 0; i < steps.size(); ++i) steps[i] -= weights[i];
    const double norm = l2_norm(weights);
    if (norm > 0) add_scalar(summary, "update_ratio/" + tag_of(*param), l2_norm(steps) / norm);
    add_histogram(summary, "log10_update_ratio/" + tag_of(*param), log_ratios(steps, weights));
  }
  before_.clear();
  write(iter, summary);
}

void TensorBoard::write(int step, const tensorboard::Summary& summary) {
  latest_ = step;
  tensorboard::Event event;
  *event.mutable_summary() = summary;
  file_->write(step, event);
}

}  // namespace robusta
