/// Where the values and gradients of a net's own parameters lie.
///
/// Values lie in one block of memory and gradients in another, both in the order in which backward completes the
/// gradients, so that what is reduced over ranks together lies together. Behind the last gradient that backward
/// completes lies a tail for whoever reduces them. Parameters lent by another net stay where that net has them.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

class ParamMemory {
 public:
  explicit ParamMemory(std::vector<Param*> completion) : completion_(std::move(completion)) {}

  /// Takes the memory, zeroed, and gives every owned parameter its place, its gradient, too, where that is asked for.
  /// Throws Error{kMemory}.
  void take(const Graph& graph, const Plan& plan, const NetOptions& options, Stream& stream, bool gradients);
  /// Gives it back. REQUIRES: nothing is lent.
  void release(const Graph& graph);

  /// The parameters that a GradientSink is told of, in that order: a prefix of both blocks. Before take(), and in nets
  /// without backward, all of them.
  const std::vector<Param*>& completion() const { return completion_; }
  /// The block of all gradients in the device's memory, tail included, and its bytes.
  void* gradients() const { return gradients_; }
  size_t gradient_bytes() const { return gradient_bytes_; }
  /// Keeps both blocks, also beyond the net.
  std::vector<std::shared_ptr<const void>> held() const { return {data_, diff_, lent_}; }
  /// The options' gradient_tail bytes.
  void* gradient_tail() const { return gradient_tail_; }
  /// The options' gradient_memory, where it is not the block itself: host memory for copies of it. Else null.
  void* staged_gradients() const { return diff_ ? lent_.get() : nullptr; }

 private:
  void place_gradients(const std::vector<Param*>& owned, const NetOptions& options, Stream& stream, size_t bytes);

  std::vector<Param*> completion_;             ///< in the order in which backward completes their gradients
  std::shared_ptr<DeviceBuffer> data_, diff_;  ///< null: none
  std::shared_ptr<void> lent_;                 ///< in place of diff_, on the host; else besides
  void *gradients_ = nullptr, *gradient_tail_ = nullptr;
  size_t gradient_bytes_ = 0;  ///< without the tail
};

}  // namespace robusta
