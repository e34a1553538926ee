/// CenterLoss: pulls the features of each class to a centre that is learned (Wen, Zhang, Li, Qiao 2016, "A
/// Discriminative Feature Learning Approach for Deep Face Recognition"). Shared by its kernels.
///
///   L = sum of (x - c)^2 / (2 N), or of |x - c| / N with distance_type L1, c being the centre of the label
///
/// As in ydwen/caffe-face and happynear/caffe-windows (center_loss_layer.cpp). Bottoms: features, all axes from `axis`
/// on being a sample's; a label for each. Parameter: centres [num_output, features]. A centre moves by
///   sum of (x - c) / (1 + count) over its `count` samples of a batch (of the signs with L1),
/// which is no derivative of L and has no loss_weight in it, times its learning rate. (It has the loss scale of nets in
/// 16 bits, by which all gradients are divided in the end.)
///
/// There the last batch of an iteration alone moves centres; here all do.
#pragma once

#include "base/half.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"

namespace robusta {

struct CenterLossSize {
  int64_t samples = 0, features = 0, classes = 0;
};

class CenterLossLayer : public Layer {
 public:
  explicit CenterLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  int64_t num_output() const override { return param().center_loss_param().num_output(); }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<LabelUse> label_use(const std::vector<Shape>&) const override {
    return LabelUse{0, 1, num_output(), std::nullopt};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 3 * static_cast<double>(bottoms[0].count());
  }

  /// What the gradient of L is multiplied by for that of the centres: all of it but the loss scale is loss_weight.
  float centre_weight() const {
    const float weight = param().loss_weight_size() > 0 ? param().loss_weight(0) : 1;
    return weight == 0 ? 0 : 1 / weight;
  }
  bool takes_absolutes() const { return param().center_loss_param().distance_type() == "L1"; }
  /// After infer_tops.
  const CenterLossSize& size() const { return size_; }
  /// N, of the batches of all ranks by their number.
  double divisor(StepReduce* ranks) const {
    return normalizer_.divisor(size_.samples, size_.samples, size_.samples, ranks);
  }

 private:
  LossNormalizer normalizer_{{}, caffe::LossParameter::BATCH_SIZE};
  FixedShape centres_;
  CenterLossSize size_;
};

/// What one feature costs, of its distance to the centre, and the derivative.
template <typename T>
struct CenterDistance {
  bool absolute;  ///< L1
  ROBUSTA_HOST_DEVICE T value(T d) const { return absolute ? (d < 0 ? -d : d) : d * d / 2; }
  ROBUSTA_HOST_DEVICE T slope(T d) const { return absolute ? static_cast<T>(d > 0) - static_cast<T>(d < 0) : d; }
};

}  // namespace robusta
