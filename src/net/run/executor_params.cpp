// What kernels make of parameters alone: copies of all that are packed, when a pass begins; and what single kernels
// prepare. Where nothing trains here both are left as they are until a parameter has changed.
//
// What always holds: versions are read and written by work of the stream, so in the order in which updates, loading and
// other nets that share parameters change these.

#include "layers/kit/changes_params.h"
#include "layers/kit/prepares_params.h"
#include "net/run/executor.h"
#include "net/run/gradient_sink.h"

namespace robusta {
/// In a training copies are made in each pass, within what is recorded.
void Executor::begin_packing() {
  begins_ = options_.backward;
  if (!options_.backward) packing_.pack_changed(stream_);
}

void Executor::run_forward(StepId begin, StepId end, ParamGate* gate) {
  prepare_params(begin, end, gate);
  run_steps(begin, end, nullptr, gate);
}

void Executor::run_forward(std::span<const StepId> steps) {
  for (const StepId s : steps) prepare_params(s, s + 1, nullptr);
  run_listed(steps);
}

void Executor::bind_prepared() {
  for (const StepId s : plan_.steps.ids()) {
    const Step& step = plan_.steps[s];
    if (step.kind != StepKind::kForward) continue;
    bound_steps_[s].prepares = preparing(plan_.units[step.unit].kernel.get());
    bound_steps_[s].keeps_prepared = step.saved && plan_.values[step.saved].persistent;
  }
}

/// Of the steps that keep it; others do so when they run.
void Executor::prepare_params(StepId begin, StepId end, ParamGate* gate) {
  bool any = false;
  for (StepId s = begin; s < end; ++s) {
    if (!bound_steps_[s].prepares || !bound_steps_[s].keeps_prepared) continue;
    any = true;
    if (!gate) continue;
    for (Param* param : bound_steps_[s].params) gate->need(*param);
  }
  if (!any) return;
  run_prelude();  // which may change what they are made of
  stream_.run([this, begin, end] {
    for (StepId s = begin; s < end; ++s) {
      if (bound_steps_[s].prepares && bound_steps_[s].keeps_prepared) prepare_changed(s);
    }
  });
}

void Executor::prepare_changed(StepId index) {
  if (prepared_versions_[plan_.steps[index].unit].moved(bound_steps_[index].params)) prepare(index);
}

void Executor::prepare(StepId index) {
  const Bound& bound = bound_steps_[index];
  KernelRun run;
  run.params = bound.params;
  run.saved = bound.saved;
  run.stream = &stream_;
  naming_layer(plan_.units[plan_.steps[index].unit], [&] { bound.prepares->prepare(run); });
}

/// A recording that is launched increments no version on the host.
void Executor::note_changed_params(StepId begin, StepId end) {
  const auto changes = [this](StepId s) {
    const Step& step = plan_.steps[s];
    if (step.kind != StepKind::kForward) return false;
    const auto* kernel = dynamic_cast<const ChangesParams*>(plan_.units[step.unit].kernel.get());
    return kernel && kernel->changes_params();
  };
  bool any = false;
  for (StepId s = begin; s < end; ++s) any |= changes(s);
  if (!any) return;
  stream_.run([this, begin, end, changes] {
    for (StepId s = begin; s < end; ++s) {
      if (!changes(s)) continue;
      for (Param* param : bound_steps_[s].params) ++param->version;
    }
  });
}

}  // namespace robusta
