/// A kernel that may leave the mask of a ReLU to the kernel of the layer that reads its result.
///
/// A kernel with a ReLU at its end multiplies, in backward, the gradient of its top with what that lets through, which
/// its reader could have done while it wrote that gradient: it reads the ReLU's result as its bottom in any case. The
/// planner asks both where nothing lies between them, once, before backward has memory.
#pragma once

namespace robusta {

class GatesGradients {
 public:
  /// The reader: whether it will give the gradient of bottom 0 as 0 wherever bottom 0 is not positive. If so it has
  /// agreed, and does. May change what it has booked for backward.
  virtual bool gate_bottom_diff() = 0;
  /// The writer: whether it ends with a ReLU whose result is 0 or positive, and can be given such a gradient of top 0.
  virtual bool takes_gated_top_diff() const = 0;
  /// It will be. May change what it has booked for backward.
  virtual void take_gated_top_diff() = 0;

 protected:
  ~GatesGradients() = default;
};

}  // namespace robusta
