// What kernels make of parameters alone: copies of all that are packed, when a pass begins; and what single kernels
// prepare. Where nothing trains here both are left as they are until a parameter has changed.
//
// What always holds: versions are read and written by work of the stream, so in the order in which updates, loading and
// other nets that share parameters change these.

#include "layers/kit/changes_params.h"
#include "layers/kit/prepares_params.h"
#include "net/run/executor.h"
#include "net/run/gradient_sink.h"
#include "ops/packed_params.h"

namespace robusta {
namespace {

/// Whether `known` are no longer the parameters' versions, which it then becomes.
bool moved(std::span<Param* const> params, std::vector<uint64_t>& known) {
  bool moved = known.size() != params.size();
  known.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    moved |= known[i] != params[i]->version;
    known[i] = params[i]->version;
  }
  return moved;
}

}  // namespace

void Executor::run_forward(StepId begin, StepId end, ParamGate* gate) {
  if (begin == StepId(0)) pack_params(gate);
  prepare_params(begin, end, gate);
  run_steps(begin, end, nullptr, gate);
}

void Executor::run_forward(std::span<const StepId> steps) {
  for (const StepId s : steps) prepare_params(s, s + 1, nullptr);
  run_listed(steps);
}

void Executor::bind_packed() {
  IdVector<UnitId, std::vector<void*>> of_unit(plan_.units.size());
  for (const PackedCopy& copy : plan_.packed) {
    of_unit[copy.unit].push_back(static_cast<char*>(address(plan_.packed_memory)) + copy.offset);
  }
  for (const StepId s : plan_.steps.ids()) {
    const Step& step = plan_.steps[s];
    const bool of_kernel =
        step.kind == StepKind::kForward || step.kind == StepKind::kBackward || step.kind == StepKind::kRepeat;
    if (of_kernel && !step.reorder) bound_steps_[s].packed = of_unit[step.unit];
  }
}

void Executor::bind_prepared() {
  for (const StepId s : plan_.steps.ids()) {
    const Step& step = plan_.steps[s];
    if (step.kind != StepKind::kForward) continue;
    bound_steps_[s].prepares = preparing(plan_.units[step.unit].kernel.get());
    bound_steps_[s].keeps_prepared = step.saved && plan_.values[step.saved].persistent;
  }
}

/// Once for forward and backward: nothing changes parameters in between but updates of those that backward is done
/// with.
void Executor::pack_params(ParamGate* gate) {
  if (plan_.packed.empty()) return;
  std::vector<PackJob> jobs;
  for (const PackedCopy& copy : plan_.packed) {
    Param* const param = plan_.units[copy.unit].params[static_cast<size_t>(copy.form.param)];
    if (gate) gate->need(*param);
    jobs.push_back({.from = static_cast<const float*>(param->data),
                    .to = static_cast<char*>(address(plan_.packed_memory)) + copy.offset,
                    .type = copy.form.type,
                    .outputs = copy.form.outputs,
                    .rows = copy.form.rows,
                    .cols = copy.form.cols});
  }
  const ParamPacker pack = find_param_packer(options_.device->kernel_kind());
  stream_.run([this, pack, jobs = std::move(jobs)] {
    if (packed_are_new()) pack(&stream_, jobs);
  });
}

/// Whether there is something to pack; in a training there always is.
bool Executor::packed_are_new() {
  if (options_.backward) return true;
  bool first = packed_versions_.empty(), moved = first;
  packed_versions_.resize(plan_.packed.size());
  for (size_t i = 0; i < plan_.packed.size(); ++i) {
    moved |= packed_versions_[i] != plan_.packed[i].param->version;
    packed_versions_[i] = plan_.packed[i].param->version;
  }
  return moved;
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
  stream_.run([this, begin, end] {
    for (StepId s = begin; s < end; ++s) {
      if (bound_steps_[s].prepares && bound_steps_[s].keeps_prepared) prepare_changed(s);
    }
  });
}

void Executor::prepare_changed(StepId index) {
  if (moved(bound_steps_[index].params, prepared_versions_[plan_.steps[index].unit])) prepare(index);
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
