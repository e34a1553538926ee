// The order of an update: average over ranks, undo the loss scale, clip (Pascanu, Mikolov and Bengio 2013, "On the
// difficulty of training recurrent neural networks", algorithm 1), 1/iter_size, decay, rule.
#include "solver/update/updater.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include "base/log.h"
#include "memory/placement.h"
#include "net/run/arrays.h"
#include "solver/update/gradient_norm.h"
#include "solver/update/policy_settings.h"
#include "solver/update/trust.h"

namespace robusta {

Regularization regularization_of(const SolverDef& solver) {
  static const std::map<std::string, Regularization> known = {
      {"L1", Regularization::kL1}, {"L2", Regularization::kL2}, {"WD", Regularization::kDecoupled}};
  return named(solver, "regularization_type", solver.param.regularization_type(), known);
}

Updater::Updater(const SolverDef& solver, Net& net, int ranks)
    : net_(net),
      device_(*net.options().device),
      device_kind_(device_.kernel_kind()),
      rule_(make_update_rule(solver)),
      local_rates_(solver, *rule_),
      norms_(device_, net.stream()),
      clip_(solver.param.clip_gradients()),
      iter_size_(solver.param.iter_size()),
      ranks_(ranks),
      disabled_(solver.param.disabled_update()),
      regularization_(regularization_of(solver)) {
  allocate_histories();
  if (solver.param.ema_decay() != 0) average_.emplace(solver, net);
  if (rule_->adapts()) scratch_ = DeviceBuffer(device_, kTrustScratch);
}

/// In the order of a .solverstate: all parameters' first arrays, then all second ones.
void Updater::allocate_histories() {
  const auto kinds = static_cast<size_t>(rule_->histories());
  size_t bytes = 0;
  for (const ParamPtr& param : net_.params()) bytes += align_up(param->desc.bytes());
  memory_ = DeviceBuffer(device_, bytes * kinds);
  if (memory_.bytes() > 0) net_.stream().fill_zero(memory_.data(), memory_.bytes());
  size_t at = 0;
  for (const ParamPtr& param : net_.params()) {
    Slot slot{.param = param, .history = {}};
    for (size_t kind = 0; kind < kinds; ++kind) {
      slot.history.push_back(static_cast<char*>(memory_.data()) + kind * bytes + at);
    }
    at += align_up(param->desc.bytes());
    id_of_[param.get()] = slots_.push_back(std::move(slot));
  }
}

Updater::~Updater() {
  try {
    net_.stream().synchronize();
  } catch (const std::exception& error) {
    LOG_ERROR << "an update failed: " << error.what();
  }
}

void Updater::begin(const Iteration& iteration) {
  assert(iteration.hold || iteration.loss_scale == 0);
  now_ = iteration;
  skipped_ = false;
  if (average_ && !average_->begun()) average_->restart();
  for (Slot& slot : slots_) slot.done = disabled_;
}

void Updater::ready(Param& param) {
  if (now_.hold || clips() || disabled_) return;
  const auto found = id_of_.find(&param);
  assert(found != id_of_.end());
  Slot* const slot = &slots_[found->second];
  enlist({&slot, 1}, 1);
  launch();
}

void Updater::finish() {
  if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.done; })) return;
  const double scale = clips() || now_.loss_scale > 0 ? inspect_gradients() : 1;
  std::vector<Slot*> open;
  for (Slot& slot : slots_) {
    if (skipped_) slot.done = true;
    if (!slot.done) open.push_back(&slot);
  }
  enlist(open, scale);
  launch();
}

double Updater::inspect_gradients() {
  std::vector<Tensor> gradients;
  for (const Slot& slot : slots_) gradients.push_back(slot.param->gradient());
  double square_sum = 0;
  for (const Norms& norms : norms_.read(gradients)) {
    skipped_ = skipped_ || (now_.loss_scale > 0 && !all_finite(norms));
    square_sum += norms.square_sum;
  }
  return clips() && !skipped_ ? clip_scale(square_sum) : 1;
}

/// All norms are read at once: each reading waits for the device.
void Updater::enlist(std::span<Slot* const> slots, double gradient_scale) {
  std::vector<Tensor> arrays;
  std::vector<size_t> ends;
  for (const Slot* slot : slots) {
    for (const Tensor& array : local_rates_.arrays_of(*slot->param, slot->history)) arrays.push_back(array);
    ends.push_back(arrays.size());
  }
  const std::vector<Norms> norms = arrays.empty() ? std::vector<Norms>() : norms_.read(arrays);
  size_t begin = 0;
  for (size_t i = 0; i < slots.size(); begin = ends[i++]) {
    enlist(*slots[i], gradient_scale, std::span(norms).subspan(begin, ends[i] - begin));
  }
}

void Updater::enlist(Slot& slot, double gradient_scale, std::span<const Norms> norms) {
  Param& param = *slot.param;
  slot.done = true;
  const double decay = now_.weight_decay * param.decay_mult;
  const bool moves = param.lr_mult != 0, decays = decay != 0 && regularization_ != Regularization::kDecoupled;
  if (!moves && !(decays && rule_->history_moves_without_rate())) return;
  UpdateTask task;
  task.dtype = param.desc.dtype;
  task.count = param.desc.count();
  task.weights = param.data;
  task.gradient = param.diff;
  task.history = slot.history;
  task.gradient_scale = gradient_scale / (static_cast<double>(iter_size_) * ranks_ * loss_scale());
  task.rate = local_rates_.of(param,
                              {.rate = now_.rate,
                               .momentum = now_.momentum,
                               .weight_decay = now_.weight_decay,
                               .gradient_scale = task.gradient_scale},
                              norms);
  task.decay = decay;
  task.regularization = regularization_;
  task.adapts = rule_->adapts() && param.decay_mult != 0;
  task.scratch = scratch_.data();
  task.momentum = now_.momentum;
  task.iteration = now_.number;
  task.kernel_kind = device_kind_;
  if (device_kind_ != "cpu") task.stream = &net_.stream();
  tasks_.push_back(task);
  if (moves) moved_.push_back(&param);
}

void Updater::launch() {
  if (tasks_.empty()) return;
  net_.stream().run([this, tasks = std::exchange(tasks_, {}), moved = std::exchange(moved_, {})] {
    rule_->apply(tasks);
    for (Param* param : moved) ++param->version;  // in the order of the stream, as kernels read it
    if (average_) average_->follow(moved);
  });
}

double Updater::clip_scale(double square_sum) const {
  // Not divided by iter_size yet: in BVLC Caffe the threshold is one of the gradients summed over an iteration.
  const double norm = std::sqrt(square_sum) / (ranks_ * loss_scale());
  if (norm <= clip_) return 1;
  const double scale = clip_ / norm;
  LOG_INFO << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > " << clip_ << ") by scale factor "
           << scale;
  return scale;
}

int arrays_per_parameter(const SolverDef& solver) {
  return make_update_rule(solver)->histories() + (solver.param.ema_decay() != 0 ? 1 : 0);
}

Tensor Updater::history_tensor(HistoryId id) const {
  const Slot& slot = slot_of(id);
  // Histories are numbered as in a .solverstate (allocate_histories).
  return {slot.param->desc, slot.history[id.index() / slots_.size()]};
}

std::vector<float> Updater::history(HistoryId id) { return read_array(net_.stream(), history_tensor(id)); }

void Updater::set_history(HistoryId id, const std::vector<float>& values) {
  write_array(net_.stream(), history_tensor(id), values);
}

}  // namespace robusta
