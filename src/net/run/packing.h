/// What a pass has in another order or type than parameters have it: copies of these, made before forward, and
/// gradients that backward leaves so, brought back together.
///
/// Most of either are too small for a launch of their own. Gradients are brought back when whoever runs the steps says
/// so: behind the last step of backward, or of a segment that somebody hears of (GradientSink). One thread drives it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "net/plan/plan.h"
#include "net/run/param_versions.h"
#include "ops/packed_params.h"

namespace robusta {

class ParamGate;

class Packing {
 public:
  /// Keeps the plan. `kernel_kind`: of the device (Device::kernel_kind).
  Packing(const Plan& plan, const std::string& kernel_kind);

  /// Where values lie now.
  void bind(const std::function<void*(ValueId)>& address_of);
  /// KernelRun::packed and packed_gradients of a step; empty where there are none.
  std::span<void* const> params_of(StepId step) const { return params_[plan_.steps[step].unit]; }
  std::span<void* const> gradients_of(StepId step) const { return gradients_[step]; }

  /// Before pack(): waits for the parameters that it reads.
  void ask_for_params(ParamGate& gate) const;
  /// Enqueues the making of all copies.
  void pack(Stream& stream) const;
  /// The same, if a parameter has another version by then than at the last call.
  void pack_changed(Stream& stream);
  /// A step of backward is enqueued; `accumulate`: its gradients are to be added to those that there are.
  void note(StepId step, bool accumulate);
  /// Enqueues bringing back what steps have left since the last call.
  void unpack(Stream& stream);

 private:
  std::vector<PackJob> pack_jobs() const;
  Param* param_of(const PackedCopy& copy) const {
    return plan_.units[copy.unit].params[static_cast<size_t>(copy.form.param)];
  }

  const Plan& plan_;
  const ParamPacker* packer_;
  IdVector<UnitId, std::vector<void*>> params_;
  IdVector<StepId, std::vector<void*>> gradients_;
  std::vector<UnpackJob> jobs_;  ///< noted
  std::vector<Param*> packed_;   ///< of which there are copies
  ParamVersions versions_;       ///< of what was packed last; the stream's, as parameters' versions are
};

}  // namespace robusta
