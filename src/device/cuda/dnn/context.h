/// cuDNN on one GPU: its handle and the plans that are in use.
///
/// One for a device, made when first asked for. Work goes to the stream that was named last; used by one thread at a
/// time, the one that drives the device.
#pragma once

#include <cuda_runtime_api.h>

#include "device/cuda/dnn/plan.h"

namespace robusta::dnn {

class Context {
 public:
  /// For the current GPU. Throws Error{kDevice|kUnsupported|kMemory}.
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// For work that `stream` is to run.
  cudnnHandle_t on(cudaStream_t stream);
  /// Before a stream ends.
  void leave(cudaStream_t stream);
  Target target() const { return Target(handle_); }
  PlanCache& plans() { return plans_; }

 private:
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  PlanCache plans_;
};

}  // namespace robusta::dnn
