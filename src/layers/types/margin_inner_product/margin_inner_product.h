/// LargeMarginInnerProduct and MarginInnerProduct: inner products whose score of the label is that of a larger angle
/// (Liu, Wen, Yu, Yang 2016, "Large-Margin Softmax Loss for Convolutional Neural Networks"; Liu et al. 2017,
/// "SphereFace: Deep Hypersphere Embedding for Face Recognition"). Shared by their kernels.
///
///   y_nc = x_n w_c for all classes c but the label l, and of that
///   y_nl = (|x_n| |w_l| psi(cos) + lambda x_n w_l) / (1 + lambda), cos being that of the angle between both
///
/// psi(cos a) = (-1)^k cos(m a) - 2k for k pi <= m a <= (k + 1) pi, m = 1, 2, 3, 4 for the types SINGLE to QUADRUPLE;
/// with SINGLE y is x w^T. lambda = base (1 + gamma batches)^-power, at least lambda_min, where the batches count from
/// `iteration` and 1 on; they follow from the position of the pass, so that a resumed run goes on with them. Bottoms:
/// x, all axes from `axis` on being a sample's; labels. Tops: y; lambda. Parameter: w [num_output, inputs].
///
/// As in wy1iu/LargeMargin_Softmax_Loss (largemargin_inner_product_layer.cpp), whose gradients are the derivatives, and
/// in wy1iu/sphereface (margin_inner_product_layer.cpp): there each training pass scales the rows of w to length 1; the
/// gradient of x by psi, a w + b x, is divided by sqrt(a^2 + b^2); and the gradient of w is that of x w^T. All of that
/// is so here.
#pragma once

#include "base/half.h"
#include "layers/kit/batches.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/kernel.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"
#include "layers/kit/rewrites_params.h"

namespace robusta {

/// y is [samples, classes], x [samples, inputs] and w [classes, inputs].
struct MarginSize {
  int64_t samples = 0, inputs = 0, classes = 0;
};

class MarginInnerProductLayer : public Layer, public RewritesParams {
 public:
  explicit MarginInnerProductLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  int64_t num_output() const override { return fields().num_output(); }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<LabelUse> label_use(const std::vector<Shape>&) const override {
    return LabelUse{0, 1, num_output(), std::nullopt};
  }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * static_cast<double>(size_.samples) * static_cast<double>(size_.inputs) *
           static_cast<double>(size_.classes);
  }

  bool rewrites(int i) const override { return i == 0 && on_sphere(); }

  /// MarginInnerProduct: rows of w have length 1.
  bool on_sphere() const { return type() == "MarginInnerProduct"; }
  const caffe::MarginInnerProductParameter& fields() const {
    return on_sphere() ? param().margin_inner_product_param() : param().largemargin_inner_product_param();
  }
  /// After infer_tops.
  const MarginSize& size() const { return size_; }

 private:
  std::string field(const std::string& name) const {
    return (on_sphere() ? "margin_inner_product_param." : "largemargin_inner_product_param.") + name;
  }

  MarginSize size_;
  FixedShape weights_;
};

/// What becomes of one score, of the cosine of its angle.
template <typename Math>
struct MarginRule {
  using T = typename Math::T;

  explicit MarginRule(const MarginInnerProductLayer& layer)
      : times(layer.fields().type() + 1),
        on_sphere(layer.on_sphere()),
        base(layer.fields().base()),
        gamma(layer.fields().gamma()),
        power(layer.fields().power()),
        least(layer.fields().lambda_min()),
        first(static_cast<T>(layer.fields().iteration())) {}

  ROBUSTA_HOST_DEVICE T lambda(T batches) const {
    const T now = base * Math::pow(1 + gamma * (first + batches + 1), -power);
    return now < least ? least : now;
  }

  /// cos(m a) by c = cos a are the Chebyshev polynomials 2 c^2 - 1, 4 c^3 - 3 c and 8 c^4 - 8 c^2 + 1. Where a lies
  /// among the m parts of 0 .. pi is read from the signs of c and of cos(2 a) or |c| - 1/2, so that no angle is ever
  /// computed.
  ROBUSTA_HOST_DEVICE T psi(T c) const {
    const T sign = sign_of(c);
    if (times == 2) return 2 * sign * c * c - 1;
    if (times == 3) {
      const T outer = sign_of(Math::abs(c) - T{0.5});
      return outer * (4 * c * c * c - 3 * c) + sign * (1 + outer) - 2;
    }
    if (times == 4) {
      const T outer = sign * sign_of(2 * c * c - 1);
      return outer * (8 * c * c * c * c - 8 * c * c + 1) + 2 * sign + outer - 3;
    }
    return c;
  }
  /// psi' between the corners, where it has none; the signs are 0 there.
  ROBUSTA_HOST_DEVICE T slope(T c) const {
    const T sign = sign_of(c);
    if (times == 2) return 4 * sign * c;
    if (times == 3) return sign_of(Math::abs(c) - T{0.5}) * (12 * c * c - 3);
    if (times == 4) return sign * sign_of(2 * c * c - 1) * (32 * c * c * c - 16 * c);
    return 1;
  }

  /// The score of the label, of x w, |x| and |w|.
  ROBUSTA_HOST_DEVICE T score(T product, T x, T w, T lambda) const {
    if (times == 1) return product;
    return (x * w * psi(cosine(product, x, w)) + lambda * product) / (1 + lambda);
  }
  /// How many times w, and how many times x, the gradient of that score by x is. With c = x w / (|x| |w|) the gradient
  /// of |x| |w| psi(c) is psi' w + (psi - c psi') |w| / |x| x.
  ROBUSTA_HOST_DEVICE void by_x(T product, T x, T w, T lambda, T& of_w, T& of_x) const {
    of_w = 1, of_x = 0;
    if (times == 1) return;
    const T c = cosine(product, x, w);
    of_w = slope(c), of_x = (psi(c) - c * of_w) * w / (x + kSmall);
    if (on_sphere) {
      const T length = Math::sqrt(of_w * of_w + of_x * of_x) + kSmall;
      of_w /= length, of_x /= length;
    }
    of_w = (of_w + lambda) / (1 + lambda), of_x /= 1 + lambda;
  }
  /// How many times x, and how many times w, its gradient by w is. The same with x and w exchanged.
  ROBUSTA_HOST_DEVICE void by_w(T product, T x, T w, T lambda, T& of_x, T& of_w) const {
    of_x = 1, of_w = 0;
    if (times == 1 || on_sphere) return;
    const T c = cosine(product, x, w);
    of_w = (psi(c) - c * slope(c)) * x / (w + kSmall) / (1 + lambda);
    of_x = (slope(c) + lambda) / (1 + lambda);
  }

  int times;
  bool on_sphere;
  T base, gamma, power, least, first;

 private:
  static constexpr T kSmall = T{1e-9};  ///< a row of zeros has no angle

  ROBUSTA_HOST_DEVICE static T sign_of(T x) { return static_cast<T>(x > 0) - static_cast<T>(x < 0); }
  ROBUSTA_HOST_DEVICE static T cosine(T product, T x, T w) { return product / (x * w + kSmall); }
};

/// What is kept from forward to backward, one behind the other in KernelRun::saved.
template <typename T>
struct MarginMemory {
  T *lambda, *x, *w, *products;  ///< lambda; the lengths of the samples and of the classes; x w of the labels
  static size_t bytes(const MarginSize& size) {
    return static_cast<size_t>(1 + 2 * size.samples + size.classes) * sizeof(T);
  }
  MarginMemory(const MarginSize& size, void* memory)
      : lambda(static_cast<T*>(memory)), x(lambda + 1), w(x + size.samples), products(w + size.classes) {}
};

}  // namespace robusta
