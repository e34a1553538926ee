/// The roles of layers that meet in one blob, where some of them work in place.
///
/// In Caffe they share its memory. What backward of a layer finds there is what the last of them has left, and where
/// that is not what the layer itself wrote, its gradient is no derivative. A net does the same
/// (net/graph/overwritten.h), and asks these roles whether it makes a difference. Layers that keep copies of what they
/// overwrite (BatchNorm, PReLU, Scale) and those whose gradient follows from other values do not have ReadsItsBlob.
#pragma once

namespace robusta {

/// What of a blob's elements is as it was before.
enum class Content {
  kNothing,
  kSigns,  ///< which of them are above zero
  kAll,
};

/// Bottom 0 or top 0 as backward reads it in Caffe, and of what in it the gradient is made.
struct BackwardRead {
  bool top;  ///< false: the bottom, which is the top's blob in place alone
  Content needs;
};

/// One bottom, one top of its shape, and a gradient that kernels compute from values of either.
class ReadsItsBlob {
 public:
  virtual ~ReadsItsBlob() = default;
  virtual BackwardRead backward_read() const = 0;
};

/// Says what is left in a blob by working on it in place, where a gradient passes: what becomes of elements without one
/// changes no sum of gradients.
class LeavesContent {
 public:
  virtual ~LeavesContent() = default;
  virtual Content leaves() const = 0;
};

}  // namespace robusta
