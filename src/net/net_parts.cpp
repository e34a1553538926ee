// Passes over some of a net's layers.
//
// What always holds: backward runs only through layers whose forward has run since the net was planned. What their
// kernels have kept - indices among it - is then there, and of these shapes.

#include <algorithm>
#include <cassert>

#include "net/net.h"
#include "net/run/executor.h"

namespace robusta {

bool Net::has_source(const NodeRange& part) const {
  for (NodeId n = part.first; n <= part.last; ++n) {
    if (state_.graph.nodes[n].source) return true;
  }
  return false;
}

bool Net::has_run_forward() const {
  if (has_run_.empty()) return state_.plan.units.empty();
  const auto ready = [this](UnitId unit) { return has_run_[unit] || !state_.plan.units[unit].kernel; };
  for (const UnitId unit : state_.plan.units.ids()) {
    if (!ready(unit)) return false;
  }
  return true;
}

void Net::note_run(std::span<const StepId> steps, bool ran) {
  has_run_.resize(state_.plan.units.size());
  ran_back_.resize(state_.plan.units.size());
  for (const StepId s : steps) {
    if (state_.plan.steps[s].reorder) continue;
    has_run_[state_.plan.steps[s].unit] = ran;
    ran_back_[state_.plan.steps[s].unit] = false;
  }
}

double Net::forward(const Pass& pass, const NodeRange& part) {
  assert(!state_.options.plan_only && state_.options.keep_blobs);
  std::vector<StepId> steps = forward_steps(state_.graph, state_.plan, part);
  if (has_source(part)) {
    prefetched_.reset();
    prepare_sources(pass, part);
    if (adopt_shapes()) steps = forward_steps(state_.graph, state_.plan, part);
  }
  if (!state_.executor) make_executor();
  renew_exposed();
  note_run(steps, false);
  state_.executor->begin_forward(pass, false);
  size_t done = 0;
  for (const NodeId sizer : state_.graph.sizers) {
    if (part.contains(sizer)) done = run_part_to_sizer(sizer, steps, done, pass, part);
  }
  state_.executor->run_forward(std::span(steps).subspan(done));
  state_.executor->end_forward(steps);
  note_run(steps, true);
  return finish_forward();
}

/// As in a whole pass. Returns how many of the part's steps have run, which are then those of the plan as it is now.
size_t Net::run_part_to_sizer(NodeId sizer, std::vector<StepId>& steps, size_t begin, const Pass& pass,
                              const NodeRange& part) {
  const StepId at = forward_step(state_.plan, sizer);
  const auto end = static_cast<size_t>(std::ranges::lower_bound(steps, at) - steps.begin());
  state_.executor->run_forward(std::span(steps).subspan(begin, end - begin));
  if (!has_other_size(sizer)) return end;
  replan_within_part(at, pass);
  steps = forward_steps(state_.graph, state_.plan, part);
  assert(std::ranges::lower_bound(steps, at) - steps.begin() == static_cast<std::ptrdiff_t>(end));
  return end;
}

/// Units before that of step `at` are the same afterwards, and have their values.
void Net::replan_within_part(StepId at, const Pass& pass) {
  const IdVector<UnitId, bool> ran = has_run_;
  replan_within(at, pass);
  has_run_.assign(state_.plan.units.size(), false);
  for (UnitId unit(0); unit < state_.plan.steps[at].unit; ++unit) has_run_[unit] = ran[unit];
}

void Net::backward(const Pass& pass, const NodeRange& part, bool accumulate) {
  assert(state_.options.backward && state_.options.keep_blobs);
  const std::vector<BegunGradient> begun = begun_gradients(state_.graph, state_.plan, part, ran_back_);
  const std::vector<StepId> steps = backward_steps(state_.graph, state_.plan, part, begun);
  for (const StepId s : steps) {
    const UnitId unit = state_.plan.steps[s].unit;
    if (has_run_.contains(unit) && has_run_[unit]) continue;
    const Node& node = state_.graph.nodes[state_.plan.units[unit].nodes[0]];
    rethrow_at(Error(ErrorKind::kUsage, "it has not run forward since the net was planned, and cannot run back",
                     "run it forward before"),
               node.layer->name(), node.where);
  }
  for (const BegunGradient& one : begun) state_.running().write(one.to, state_.running().read(one.from));
  state_.running().backward(pass, accumulate, steps);
  ran_back_.resize(state_.plan.units.size());
  for (const StepId s : steps) {
    if (!state_.plan.steps[s].reorder) ran_back_[state_.plan.steps[s].unit] = true;
  }
}

}  // namespace robusta
