/// ReverseTime: sequences of different lengths in reverse order, each within its own length. Shared by its kernels.
///
/// As in ChWick/caffe, branch warp-ctc (reverse_time_layer.cpp). Bottoms: steps [T, N, ...]; the length of each of the
/// N sequences. What lies behind a sequence is copied with copy_remaining, and is 0 without, where that Caffe leaves
/// what was there. Reversing twice changes nothing in a sequence, so the gradient is reversed in the same way.
#pragma once

#include "base/half.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"

namespace robusta {

struct TimeReversal {
  int64_t steps = 1, sequences = 1, width = 1;
  bool copies_rest = false;  ///< what lies behind the end of a sequence

  /// Where the element at i comes from; -1: it is 0. A length that cannot be counts as 0.
  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t source_of(int64_t i, const L* lengths) const {
    const int64_t step = i / (sequences * width), sequence = i / width % sequences;
    const int length = to_label(lengths[sequence]);
    const bool fits = length >= 0 && length <= steps;
    if (fits && step < length) return i + (length - 1 - 2 * step) * sequences * width;
    return copies_rest ? i : -1;
  }
};

class ReverseTimeLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// After infer_tops.
  const TimeReversal& reversal() const { return reversal_; }

 private:
  TimeReversal reversal_;
};

/// Throws the Error{kData} of a length that is not 0..steps.
[[noreturn]] void throw_bad_length(double length, int64_t sequence, int64_t steps, const Pass& pass);

}  // namespace robusta
