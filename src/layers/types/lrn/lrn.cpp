// LRN: checks, and the reference kernel for both regions.
//
// The reference sums each window anew, in double; across channels a window is a stretch of one axis, within a channel a
// square.

#include "layers/types/lrn/lrn.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/kernel.h"

namespace robusta {

LrnLayer::LrnLayer(const caffe::LayerParameter& param) : Layer(param) {
  if (size() % 2 == 0) {
    throw Error(ErrorKind::kConfig, str("local_size ", size(), " is even"),
                "the window is centred on an element, so give an odd size")
        .in_field("lrn_param.local_size");
  }
}

std::vector<Shape> LrnLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (bottoms[0].axes() != 4) {
    throw Error(ErrorKind::kConfig,
                str("LRN takes an input of batch, channels, height and width, not ", bottoms[0].str()));
  }
  return bottoms;
}

double LrnLayer::forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const {
  const double window = static_cast<double>(size());
  // A square and an addition for each element of a window; the powers are few beside them.
  return 2.0 * static_cast<double>(tops[0].count()) * (across_channels() ? window : window * window);
}

namespace {

/// Both regions are sums over a window that is symmetric in its two ends: j is in the window of i exactly when i is in
/// that of j. Hence, with s the bracket, the gradient is
///   dx_i = dy_i s_i^-beta - 2 alpha beta / divisor * x_i * (window sum at i of dy_j x_j s_j^(-beta-1)).
template <typename T>
class LrnReference : public Kernel {
 public:
  explicit LrnReference(const KernelRequest& request) : shape_(request.bottoms[0].shape) {
    const auto& layer = request.layer<LrnLayer>();
    const int64_t size = layer.size();
    across_ = layer.across_channels();
    reach_ = size / 2;
    k_ = layer.k();
    beta_ = layer.beta();
    weight_ = double{layer.alpha()} / static_cast<double>(across_ ? size : size * size);
    booking_.repeatable = true;
    booking_.backward_scratch = 2 * static_cast<size_t>(shape_.count()) * sizeof(T);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    for_elements([=, this](const Place& place) {
      y[place.index] = static_cast<T>(x[place.index] * std::pow(bracket(x, place), -beta_));
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* x = run.bottoms[0].as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    T* direct = static_cast<T*>(run.scratch);
    T* ratio = direct + shape_.count();
    for_elements([=, this](const Place& place) {
      const int64_t i = place.index;
      // direct is the first term of the gradient, ratio what its window sum is made of.
      const double s = bracket(x, place), own = dy[i] * std::pow(s, -beta_);
      direct[i] = static_cast<T>(own);
      ratio[i] = static_cast<T>(own * x[i] / s);
    });
    for_elements([=, this](const Place& place) {
      const int64_t i = place.index;
      const double around = window_sum(place, [=](int64_t j) -> double { return ratio[j]; });
      dx[i] = static_cast<T>(direct[i] - 2 * weight_ * beta_ * x[i] * around);
    });
  }

 private:
  struct Place {
    int64_t index, c, h, w;
  };

  template <typename Body>
  void for_elements(const Body& body) const {
    const int64_t channels = shape_[1], height = shape_[2], width = shape_[3];
    parallel_for(shape_[0] * channels, 1 + (1 << 12) / (height * width), [&](int64_t plane) {
      int64_t index = plane * height * width;
      for (int64_t h = 0; h < height; ++h) {
        for (int64_t w = 0; w < width; ++w) body(Place{index++, plane % channels, h, w});
      }
    });
  }

  double bracket(const T* x, const Place& place) const {
    return k_ + weight_ * window_sum(place, [=](int64_t j) { return double{x[j]} * x[j]; });
  }

  template <typename Value>
  double window_sum(const Place& p, const Value& value) const {
    const int64_t channels = shape_[1], height = shape_[2], width = shape_[3];
    double sum = 0;
    if (across_) {
      for (int64_t c = std::max<int64_t>(0, p.c - reach_); c < std::min(channels, p.c + reach_ + 1); ++c) {
        sum += value(p.index + (c - p.c) * height * width);
      }
      return sum;
    }
    for (int64_t h = std::max<int64_t>(0, p.h - reach_); h < std::min(height, p.h + reach_ + 1); ++h) {
      for (int64_t w = std::max<int64_t>(0, p.w - reach_); w < std::min(width, p.w + reach_ + 1); ++w) {
        sum += value(p.index + (h - p.h) * width + w - p.w);
      }
    }
    return sum;
  }

  Shape shape_;
  bool across_;
  int64_t reach_;
  double k_, beta_, weight_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("LRN", LrnLayer);
ROBUSTA_REGISTER_REFERENCE("LRN", LrnReference);

}  // namespace robusta
