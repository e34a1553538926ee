/// Where the values and gradients of a net's own parameters lie.
///
/// Values lie in one block of memory and gradients in another, both in the order in which backward completes the
/// gradients, so that what is reduced over ranks together lies together (gradient_layout.h, where gradients may also
/// share memory). Behind the last gradient that backward completes lies a tail for whoever reduces them. Parameters
/// lent by another net stay where that net has them.
///
/// Those of layers that ranks share out (NetOptions::model_groups) lie apart from both blocks, in memory that takes
/// room for what is there alone.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/element_range.h"
#include "device/cpu/sparse_memory.h"
#include "device/device.h"
#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"
#include "net/run/gradient_layout.h"

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
  std::vector<std::shared_ptr<const void>> held() const;
  /// Of a parameter that ranks share out: gives up all values but these elements, and all gradients but theirs, until
  /// somebody writes them again. Others stay as they are.
  void keep_only(const Param& param, ElementRange kept) const;
  /// Bytes that values and gradients of parameters that ranks share out take now.
  size_t shared_out_bytes() const;
  /// The options' gradient_tail bytes.
  void* gradient_tail() const { return gradient_tail_; }
  /// The options' gradient_memory, where it is not the block itself: host memory for copies of it. Else null.
  void* staged_gradients() const { return diff_ ? lent_.get() : nullptr; }

 private:
  /// Of a parameter that ranks share out.
  struct Sparse {
    std::shared_ptr<SparseMemory> values, gradients;  ///< gradients: null in nets without backward
  };

  void place_shared_out(Param& param, bool gradients);
  void place_gradients(const std::vector<Param*>& placed, const GradientLayout& layout, const NetOptions& options,
                       Stream& stream);

  std::vector<Param*> completion_;             ///< in the order in which backward completes their gradients
  std::shared_ptr<DeviceBuffer> data_, diff_;  ///< null: none
  std::map<const Param*, Sparse> sparse_;
  std::shared_ptr<void> lent_;  ///< in place of diff_, on the host; else besides
  void *gradients_ = nullptr, *gradient_tail_ = nullptr;
  size_t gradient_bytes_ = 0;
};

}  // namespace robusta
