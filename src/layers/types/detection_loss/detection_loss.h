/// DetectionLoss: how far maps of detections are from their truth (Cai et al. 2016, "A unified multi-scale deep
/// convolutional neural network for fast object detection", equations 1 to 4). Shared by its kernels.
///
///   L = sum over examples of w * (-log p) / their number + lambda * sum over objects and k of f(d_k) / (4 * objects)
///
/// As in zhaoweicai/mscnn (src/caffe/layers/detection_loss_layer.cpp; where its two halves differ, the .cu). Bottoms:
/// kit/detection_maps.h. The top [1, 1, 1, 2] is L, and the part of the boxes in it; a loss weight counts both, and the
/// gradient is that of L. p is the probability that a softmax gives the class of a cell; examples and w:
/// detection_examples.h, as if they were given. d is the difference of a number of the code, cut to what field_xyr and
/// field_whr allow, and that of the box: its shift by the field's size, or the logarithm of its size by that of the
/// field, normalised by bbox_reg_param. The gradient is taken as if nothing were cut, so that codes far outside move
/// back. f is the smooth L1 distance, or d^2 / 2 without bb_smooth.
#pragma once

#include "layers/kit/detection_maps.h"
#include "layers/kit/kernel.h"
#include "layers/kit/smooth_l1.h"

namespace robusta {

/// The terms of one place.
struct DetectionTerms {
  DetectionMaps m;
  float lambda;
  bool smooth;                                         ///< bb_smooth
  float least_shift, most_shift, least_log, most_log;  ///< of normalised codes

  /// -log p of the class.
  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T score_loss(const typename Math::T* x, int64_t place, int label) const {
    using T = typename Math::T;
    const T most = largest(x, place);
    T sum = 0;
    for (int64_t c = 0; c < m.classes; ++c) sum += Math::exp(x[m.in_predictions(place, c)] - most);
    const T loss = most + Math::log(sum) - x[m.in_predictions(place, label)], limit = static_cast<T>(kMostLoss);
    return loss > limit ? limit : loss;
  }

  /// The sum of f(d) over the four numbers of the code.
  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T box_loss(const typename Math::T* x, const typename Math::T* truth,
                                                int64_t place) const {
    typename Math::T sum = 0;
    for (int k = 0; k < 4; ++k) {
      const auto d = difference<Math>(x, truth, place, k);
      sum += smooth ? SmoothL1<Math>().value(d) : d * d / 2;
    }
    return sum;
  }

  /// All derivatives of a place; zeros where it has no part. `scores` and `boxes`: what they are multiplied by.
  template <typename Math>
  ROBUSTA_HOST_DEVICE void write_slopes(const typename Math::T* x, const typename Math::T* truth, int64_t place,
                                        typename Math::T weight, typename Math::T scores, typename Math::T boxes,
                                        typename Math::T* dx) const {
    using T = typename Math::T;
    const int label = m.label(truth, place);
    const bool is_example = weight >= 0;
    const T most = is_example ? largest(x, place) : T{0};
    T sum = 0;
    for (int64_t c = 0; c < m.classes && is_example; ++c) sum += Math::exp(x[m.in_predictions(place, c)] - most);
    for (int64_t c = 0; c < m.classes; ++c) {
      const int64_t at = m.in_predictions(place, c);
      dx[at] = is_example ? scores * weight * (Math::exp(x[at] - most) / sum - static_cast<T>(c == label)) : T{0};
    }
    for (int k = 0; k < 4; ++k) {
      const T d = label > 0 ? difference<Math>(x, truth, place, k) : T{0};
      dx[m.in_predictions(place, m.classes + k)] = boxes * (smooth ? SmoothL1<Math>().slope(d) : d);
    }
  }

 private:
  static constexpr double kMostLoss = 87.33654475055310898657;  ///< -log(FLT_MIN), as Caffe's loss of a softmax ends

  template <typename T>
  ROBUSTA_HOST_DEVICE T largest(const T* x, int64_t place) const {
    T most = x[m.in_predictions(place, 0)];
    for (int64_t c = 1; c < m.classes; ++c) {
      const T score = x[m.in_predictions(place, c)];
      most = score > most ? score : most;
    }
    return most;
  }

  /// d of number `k`. A box is at least two pixels wide and high.
  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T difference(const typename Math::T* x, const typename Math::T* truth,
                                                  int64_t place, int k) const {
    using T = typename Math::T;
    const T of_box = truth[m.in_truth(place, 1 + k)];
    const T field = static_cast<T>(k % 2 == 0 ? m.field_w : m.field_h);
    const T middle = static_cast<T>(k == 0 ? m.middle_x(place) : m.middle_y(place));
    // The code of R-CNN: the shift of the middle in extents of the field, the logarithm of the size in those.
    const T wanted = k < 2 ? (of_box - middle) / field : Math::log((of_box > 2 ? of_box : T{2}) / field);
    const T least = static_cast<T>(k < 2 ? least_shift : least_log),
            most = static_cast<T>(k < 2 ? most_shift : most_log);
    const T number = x[m.in_predictions(place, m.classes + k)];
    return (number < least ? least : number > most ? most : number) - m.statistics.apply(k, wanted);
  }
};

class DetectionLossLayer : public DetectionMapsLayer {
 public:
  explicit DetectionLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool is_loss() const override { return true; }

  const caffe::DetectionLossParameter& fields() const { return param().detection_loss_param(); }
  /// After infer_tops.
  DetectionTerms terms() const;
};

}  // namespace robusta
