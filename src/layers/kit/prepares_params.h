/// A kernel that makes something of its parameters alone before it runs forward, and makes it anew only when these have
/// changed: weights in another order, or with what follows folded into them. For kernels that nothing runs backward
/// through, whose weights seldom change.
#pragma once

#include "layers/kit/kernel.h"

namespace robusta {

class PreparesParams {
 public:
  /// Fills run.saved (Booking::saved_bytes), which forward finds as this has left it, from run.params; is given nothing
  /// else. Called before a forward pass, outside of what is recorded, where a parameter has another version than the
  /// last time; before each run where the net has no memory to keep it from pass to pass.
  virtual void prepare(const KernelRun& run) = 0;
  /// Whether there is anything to make.
  virtual bool prepares() const = 0;

 protected:
  ~PreparesParams() = default;
};

/// Null: the kernel prepares nothing.
inline PreparesParams* preparing(Kernel* kernel) {
  auto* const preparing = dynamic_cast<PreparesParams*>(kernel);
  return preparing && preparing->prepares() ? preparing : nullptr;
}

}  // namespace robusta
