/// Cross-entropy (kit/cross_entropy.h) on the GPU. For files named *_gpu.cpp.
#pragma once

#include "layers/backends/gpu/softmax_loss.h"
#include "layers/kit/cross_entropy.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// -log p(label), of a position whose label counts.
template <typename T>
struct CrossEntropyLosses {
  Probabilities<T> probabilities;
  ROBUSTA_GPU float operator()(int64_t position, int own) const {
    const float p = probabilities.of_class(position, own);
    // Not fmaxf, which would hide a NaN.
    return -::logf(p < FLT_MIN ? FLT_MIN : p);
  }
};

/// The third top: the losses of all positions, 0 where the label does not count.
template <typename T>
struct CrossEntropyTop {
  LabelReader label;
  CrossEntropyLosses<T> losses;
  float* top;
  ROBUSTA_GPU void operator()(int64_t position) const {
    const int own = label(position);
    top[position] = own >= 0 ? losses(position, own) : 0;
  }
};

/// p * mass - target
struct CrossEntropySlope {
  SmoothTarget<float> target;
  ROBUSTA_GPU float operator()(float p, int64_t c, int own) const {
    return p * target.mass - (c == own ? target.own : target.other);
  }
};

template <typename T>
class CrossEntropyGpu : public SoftmaxLossGpu<T> {
 public:
  explicit CrossEntropyGpu(const KernelRequest& request)
      : SoftmaxLossGpu<T>(request), target_(request.layers[0]->param(), this->view().classes * this->view().inner) {}

  void forward(const KernelRun& run) override {
    this->make_probabilities(run);
    const CrossEntropyLosses<T> losses{this->probabilities(run)};
    this->sum_losses(run, losses);
    if (run.tops.size() < 3) return;
    for_each(run.stream, this->view().positions(),
             CrossEntropyTop<T>{this->labels(run), losses, run.tops[2].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) this->gradient(run, CrossEntropySlope{target_});
  }

 private:
  SmoothTarget<float> target_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
