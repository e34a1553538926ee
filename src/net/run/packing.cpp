// Jobs are made of the plan and of addresses; a launch gets them by value, as streams may run it later.

#include "net/run/packing.h"

#include <algorithm>
#include <utility>

#include "net/run/gradient_sink.h"

namespace robusta {

Packing::Packing(const Plan& plan, const std::string& kernel_kind)
    : plan_(plan), packer_(find_param_packer(kernel_kind)), params_(plan.units.size()), gradients_(plan.steps.size()) {
  for (const PackedCopy& copy : plan_.packed) packed_.push_back(param_of(copy));
}

void Packing::bind(const std::function<void*(ValueId)>& address_of) {
  params_.assign(plan_.units.size(), {});
  gradients_.assign(plan_.steps.size(), {});
  for (const PackedCopy& copy : plan_.packed) {
    params_[copy.unit].push_back(static_cast<char*>(address_of(plan_.packed_memory)) + copy.offset);
  }
  for (const PackedGradient& gradient : plan_.packed_gradients) {
    gradients_[gradient.step].push_back(address_of(gradient.memory));
  }
}

void Packing::ask_for_params(ParamGate& gate) const {
  for (const PackedCopy& copy : plan_.packed) gate.need(*param_of(copy));
}

std::vector<PackJob> Packing::pack_jobs() const {
  std::vector<PackJob> jobs;
  IdVector<UnitId, size_t> of_unit(plan_.units.size(), 0);
  for (const PackedCopy& copy : plan_.packed) {
    const PackedParam& form = copy.form;
    const Param* const param = param_of(copy);
    void* const to = params_[copy.unit][of_unit[copy.unit]++];
    jobs.push_back({static_cast<const float*>(param->data), to, form.type, form.outputs, form.rows, form.cols});
  }
  return jobs;
}

/// Once for forward and backward: nothing changes parameters in between but updates of those that backward is done
/// with.
void Packing::pack(Stream& stream) const {
  if (plan_.packed.empty()) return;
  stream.run([pack = packer_->pack, &stream, jobs = pack_jobs()] { pack(&stream, jobs); });
}

void Packing::pack_changed(Stream& stream) {
  if (plan_.packed.empty()) return;
  stream.run([this, &stream, jobs = pack_jobs()] {
    if (versions_.moved(packed_)) packer_->pack(&stream, jobs);
  });
}

void Packing::note(StepId step, bool accumulate) {
  if (gradients_[step].empty()) return;
  // Noted already where a recording came to nothing, after which its steps are enqueued once more.
  std::erase_if(jobs_, [&](const UnpackJob& job) { return std::ranges::count(gradients_[step], job.from) > 0; });
  size_t i = 0;
  for (const PackedGradient& gradient : plan_.packed_gradients) {
    if (gradient.step != step) continue;
    const PackedParam& form = gradient.form;
    auto* const to = static_cast<float*>(gradient.param->diff);
    jobs_.push_back({gradients_[step][i++], form.type, form.outputs, form.rows, form.cols, to, accumulate});
  }
}

void Packing::unpack(Stream& stream) {
  if (jobs_.empty()) return;
  stream.run([unpack = packer_->unpack, &stream, jobs = std::exchange(jobs_, {})] { unpack(&stream, jobs); });
}

}  // namespace robusta
