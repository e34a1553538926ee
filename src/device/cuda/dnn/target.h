/// The GPU that cuDNN plans for.
///
/// Either one that is there, by a handle (not owned), or one that is only described: plans for it can be looked at, on
/// a machine without any GPU too, but not be run.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/dnn/descriptor.h"

namespace robusta::dnn {

/// Keeps CUDA's compiler loaded from now on. For each graph that may end in a compiled kernel cuDNN opens its library
/// and closes it again: 10 ms each time. Does nothing where it is not installed.
void keep_compiler_loaded();

class Target {
 public:
  explicit Target(cudnnHandle_t handle) : handle_(handle) {}
  /// From cuDNN's own description of a GPU, as JSON. Throws Error{kDevice} for one that it does not read,
  /// Error{kUnsupported} where cuDNN is too old for such descriptions.
  static Target described(const std::string& json);

  /// Null for a GPU that is only described.
  cudnnHandle_t handle() const { return handle_; }
  /// Tells operation graphs, heuristics and execution plans whom they are for.
  void hand_to_graph(Descriptor& graph) const;
  void hand_to_heuristics(Descriptor& heuristics) const;
  void hand_to_plan(Descriptor& plan) const;

 private:
  Target() = default;
  cudnnHandle_t handle_ = nullptr;
  std::shared_ptr<const Descriptor> description_;
};

}  // namespace robusta::dnn
