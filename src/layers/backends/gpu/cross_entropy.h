/// Cross-entropy (kit/cross_entropy.h) on the GPU. For files named *_gpu.cpp.
#pragma once

#include "layers/backends/gpu/constants.h"
#include "layers/backends/gpu/softmax_loss.h"
#include "layers/kit/cross_entropy.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// -w(label) log p(label), of a position whose label counts.
template <typename T>
struct CrossEntropyLosses {
  Probabilities<T> probabilities;
  const float* weights;  ///< of the classes; null: all are 1
  ROBUSTA_GPU float operator()(int64_t position, int own) const {
    const float p = probabilities.of_class(position, own);
    // Not fmaxf, which would hide a NaN.
    const float loss = -::logf(p < FLT_MIN ? FLT_MIN : p);
    return weights ? weights[own] * loss : loss;
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

/// w(label) (p * mass - target)
struct CrossEntropySlope {
  SmoothTarget<float> target;
  const float* weights;  ///< null: all are 1
  ROBUSTA_GPU float operator()(float p, int64_t c, int own) const {
    const float slope = p * target.mass - (c == own ? target.own : target.other);
    return weights ? weights[own] * slope : slope;
  }
};

template <typename T>
class CrossEntropyGpu : public SoftmaxLossGpu<T> {
 public:
  explicit CrossEntropyGpu(const KernelRequest& request)
      : SoftmaxLossGpu<T>(request),
        target_(request.layers[0]->param(), this->view().classes * this->view().inner),
        weights_(copied_to_device(request, request.layer<CrossEntropyLayer>().class_weights())) {}

  void forward(const KernelRun& run) override {
    this->make_probabilities(run);
    const CrossEntropyLosses<T> losses{this->probabilities(run), weights()};
    this->sum_losses(run, losses);
    if (run.tops.size() < 3) return;
    for_each(run.stream, this->view().positions(),
             CrossEntropyTop<T>{this->labels(run), losses, run.tops[2].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) this->gradient(run, CrossEntropySlope{target_, weights()});
  }

 private:
  const float* weights() const { return static_cast<const float*>(weights_.data()); }

  SmoothTarget<float> target_;
  DeviceBuffer weights_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
