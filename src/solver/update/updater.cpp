// The order of an update: average over ranks, undo the loss scale, clip (Pascanu, Mikolov and Bengio 2013, "On the
// difficulty of training recurrent neural networks", algorithm 1), 1/iter_size, decay, rule.
#include "solver/update/updater.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "memory/placement.h"
#include "net/run/arrays.h"
#include "robusta/error.h"
#include "solver/update/gradient_norm.h"
#include "solver/update/policy_settings.h"
#include "solver/update/trust.h"

namespace robusta {

Regularization regularization_of(const SolverDef& solver) {
  static const std::map<std::string, Regularization> known = {
      {"L1", Regularization::kL1}, {"L2", Regularization::kL2}, {"WD", Regularization::kDecoupled}};
  return named(solver, "regularization_type", solver.param.regularization_type(), known);
}

namespace {

/// What wants whole parameters, or their gradients after the update.
void check_sharded(const SolverDef& solver, const UpdateRule& rule, std::string_view asked_by) {
  if (rule.adapts()) {
    refuse_setting(solver, "type", str(asked_by, " with solver type ", solver.param.type()),
                   str(solver.param.type(), " scales its steps by the norms of whole layers: train without ", asked_by,
                       ", or by another type, such as \"SGD\" with larc or local_lr_auto"));
  }
  if (solver.param.snapshot_diff()) {
    refuse_setting(
        solver, "snapshot_diff", str(asked_by, " with snapshot_diff"),
        str("no rank has all gradients after the update: remove snapshot_diff, or train without ", asked_by));
  }
}

size_t part_bytes(ElementRange part, DType type) { return align_up(static_cast<size_t>(part.count()) * size_of(type)); }

}  // namespace

Updater::Updater(const SolverDef& solver, Net& net, int ranks, Shards* shards)
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
      regularization_(regularization_of(solver)),
      shards_(shards) {
  if (shards_) check_sharded(solver, *rule_, shards_->asked_by());
  allocate_histories();
  if (solver.param.ema_decay() != 0) average_.emplace(solver, net, shards_);
  if (rule_->adapts()) scratch_ = DeviceBuffer(device_, kTrustScratch);
  // What is updated may not depend on what the host reads first, nor anything follow it.
  if (!clips() && !disabled_ && !shards_ && !average_ && !local_rates_.active())
    table_ = UpdateTable::make(solver, device_);
}

/// In the order of a .solverstate: all parameters' first arrays, then all second ones.
void Updater::allocate_histories() {
  const auto kinds = static_cast<size_t>(rule_->histories());
  size_t bytes = 0;
  for (const ParamPtr& param : net_.params()) {
    const std::optional<ElementRange> own = shards_ ? shards_->own(*param) : std::nullopt;
    const ElementRange part = own.value_or(ElementRange{0, param->desc.count()});
    id_of_[param.get()] = slots_.push_back({.param = param, .part = part, .shared = own.has_value(), .history = {}});
    bytes += part_bytes(part, param->desc.dtype);
  }
  memory_ = DeviceBuffer(device_, bytes * kinds);
  if (memory_.bytes() > 0) net_.stream().fill_zero(memory_.data(), memory_.bytes());
  size_t at = 0;
  for (Slot& slot : slots_) {
    for (size_t kind = 0; kind < kinds; ++kind) {
      slot.history.push_back(static_cast<char*>(memory_.data()) + kind * bytes + at);
    }
    at += part_bytes(slot.part, slot.param->desc.dtype);
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
  finish_postponed();
  now_ = iteration;
  skipped_ = false;
  if (average_ && !average_->begun()) average_->restart();
  for (Slot& slot : slots_) slot.done = disabled_;
}

void Updater::ready(Param& param) {
  Param* const one = &param;
  ready({&one, 1});
}

void Updater::ready(std::span<Param* const> params) {
  if (now_.hold || clips() || disabled_ || (shards_ && !shards_->keep_weights())) return;
  assert(!sums_norms());
  std::vector<Slot*> slots;
  for (const Param* param : params) slots.push_back(&slots_[id_of_.at(param)]);
  enlist(slots, 1);
  launch();
}

std::vector<Updater::Slot*> Updater::open_slots() {
  std::vector<Slot*> open;
  for (Slot& slot : slots_) {
    if (skipped_) slot.done = true;
    if (!slot.done) open.push_back(&slot);
  }
  return open;
}

void Updater::finish() {
  finish_postponed();
  if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.done; })) return;
  const double scale = clips() || now_.loss_scale > 0 ? inspect_gradients() : 1;
  enlist(open_slots(), scale);
  launch();
}

void Updater::finish_postponed() {
  if (!std::exchange(postponed_, false)) return;
  note_moved();
  table_->launch(net_.stream());
}

bool Updater::postpone() {
  assert(!postponed_);
  const auto is_open = [](const Slot& slot) { return !slot.done; };
  if (!table_ || now_.loss_scale > 0 || !std::all_of(slots_.begin(), slots_.end(), is_open)) return false;
  enlist(open_slots(), 1);
  if (tasks_.empty() || !table_->takes(tasks_)) return launch(), true;
  try {
    table_->set(net_.stream(), tasks_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    table_ = nullptr;  // there is no room for it: updates go on without
    return launch(), true;
  }
  tasks_.clear();
  return postponed_ = true;
}

/// From the first update on: in a pass that has none before it the table is told to do nothing.
PassPrelude* Updater::prelude() {
  if (!table_ || !table_->ready()) return nullptr;
  if (!postponed_) {
    table_->set_idle(net_.stream());
  } else {
    note_moved();
  }
  return this;
}

void Updater::enqueue(Stream& stream) { table_->launch(stream); }

/// In the order of the stream, as kernels read it.
void Updater::note_moved() {
  net_.stream().run([moved = std::exchange(moved_, {})] {
    for (Param* param : moved) ++param->version;
  });
}

Tensor Updater::part_of(const Slot& slot, const Tensor& array) {
  const size_t element = size_of(array.desc.dtype);
  return {{Shape({slot.part.count()}), array.desc.dtype, nullptr},
          static_cast<char*>(array.data) + static_cast<size_t>(slot.part.begin) * element};
}

Tensor Updater::gradient_of(const Slot& slot) const {
  Tensor gradient = part_of(slot, slot.param->gradient());
  void* const own = slot.shared ? shards_->own_gradient(*slot.param) : nullptr;
  if (own) gradient.data = own;
  return gradient;
}

std::vector<Norms> Updater::read_norms(std::span<const Tensor> parts, std::span<const Slot* const> slots) {
  std::vector<Norms> norms = norms_.read(parts);
  if (!shards_) return norms;
  std::vector<double> sums(2 * norms.size());
  for (size_t i = 0; i < norms.size(); ++i) {
    if (!slots[i]->shared) continue;
    const int owners = shards_->owners(*slots[i]->param);
    sums[2 * i] = norms[i].l1 / owners;
    sums[2 * i + 1] = norms[i].square_sum / owners;
  }
  shards_->sum(sums);
  for (size_t i = 0; i < norms.size(); ++i) {
    if (slots[i]->shared) norms[i] = {.l1 = sums[2 * i], .square_sum = sums[2 * i + 1]};
  }
  return norms;
}

std::vector<Norms> Updater::norms_of_gradients() {
  std::vector<Tensor> gradients;
  std::vector<const Slot*> slots;
  for (const Slot& slot : slots_) {
    gradients.push_back(gradient_of(slot));
    slots.push_back(&slot);
  }
  return read_norms(gradients, slots);
}

std::vector<double> Updater::square_sums_of_gradients() {
  std::vector<double> sums;
  for (const Norms& norms : norms_of_gradients()) sums.push_back(norms.square_sum);
  return sums;
}

double Updater::inspect_gradients() {
  if (now_.square_sum) {
    skipped_ = now_.loss_scale > 0 && !std::isfinite(*now_.square_sum);
    return clips() && !skipped_ ? clip_scale(*now_.square_sum) : 1;
  }
  double square_sum = 0;
  for (const Norms& norms : norms_of_gradients()) {
    skipped_ = skipped_ || (now_.loss_scale > 0 && !all_finite(norms));
    square_sum += norms.square_sum;
  }
  return clips() && !skipped_ ? clip_scale(square_sum) : 1;
}

/// All norms are read at once: each reading waits for the device.
void Updater::enlist(std::span<Slot* const> slots, double gradient_scale) {
  std::vector<Tensor> arrays;
  std::vector<const Slot*> of;
  std::vector<size_t> ends;
  for (const Slot* slot : slots) {
    const LocalRates::Arrays all{
        .weights = part_of(*slot, slot->param->tensor()), .gradient = gradient_of(*slot), .history = slot->history};
    for (const Tensor& array : local_rates_.arrays_of(*slot->param, all)) {
      arrays.push_back(array);
      of.push_back(slot);
    }
    ends.push_back(arrays.size());
  }
  const std::vector<Norms> norms = arrays.empty() ? std::vector<Norms>() : read_norms(arrays, of);
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
  if (slot.part.empty()) return;
  UpdateTask task;
  task.dtype = param.desc.dtype;
  task.count = slot.part.count();
  task.weights = part_of(slot, param.tensor()).data;
  task.gradient = gradient_of(slot).data;
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

UpdateArrays update_arrays(const SolverDef& solver, int sharers) {
  const int average = solver.param.ema_decay() != 0 ? 1 : 0;
  return {.per_parameter = make_update_rule(solver)->histories() + average, .ranks = sharers};
}

Tensor Updater::history_tensor(HistoryId id) const {
  const Slot& slot = slot_of(id);
  // Histories are numbered as in a .solverstate (allocate_histories).
  return {{Shape({slot.part.count()}), slot.param->desc.dtype, nullptr}, slot.history[id.index() / slots_.size()]};
}

size_t Updater::history_bytes() const {
  size_t bytes = 0;
  for (const Slot& slot : slots_) bytes += align_up(slot.param->desc.bytes());
  return bytes * static_cast<size_t>(rule_->histories());
}

std::vector<float> Updater::gather_history(HistoryId id) {
  std::vector<float> own = read_array(net_.stream(), history_tensor(id));
  return slot_of(id).shared ? shards_->whole(history_param(id), own) : own;
}

Updater::HistoryPart Updater::own_history(HistoryId id) {
  const Slot& slot = slot_of(id);
  return {slot.part, read_array(net_.stream(), history_tensor(id)), slot.shared};
}

std::vector<float> Updater::history(HistoryId id) {
  if (!shards_) return read_array(net_.stream(), history_tensor(id));
  if (id < to_tell_) return {};                                // handed over
  for (; to_tell_ < id; ++to_tell_) gather_history(to_tell_);  // nobody asked for these
  to_tell_ = id + 1;
  return gather_history(id);
}

TellingHistories::TellingHistories(Updater& updater) : updater_(updater) {
  updater_.to_tell_ = HistoryId(0);
  if (updater_.shards_ && !updater_.shards_->gets_whole()) tell_rest();
}

TellingHistories::~TellingHistories() {
  try {
    tell_rest();
  } catch (const std::exception& error) {
    LOG_ERROR << "histories were not told: " << error.what();
  }
}

void TellingHistories::tell_rest() {
  if (!updater_.shards_) return;
  while (updater_.to_tell_ < HistoryId(updater_.histories())) updater_.history(updater_.to_tell_);
}

void Updater::set_history(HistoryId id, const std::vector<float>& values) {
  const ElementRange part = slot_of(id).part;
  write_array(net_.stream(), history_tensor(id), {values.begin() + part.begin, values.begin() + part.end});
}

}  // namespace robusta
