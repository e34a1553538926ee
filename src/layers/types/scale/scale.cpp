// Scale: shapes, and the reference kernel: y = x * scale + bias, dx = dy * scale; the gradients of scale and bias are
// the sums of x * dy and of dy over all that shares an element of them, carried in double.

#include "layers/types/scale/scale.h"

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/kernel.h"
#include "layers/kit/spanned_axes.h"

namespace robusta {

ScaleLayer::ScaleLayer(const caffe::LayerParameter& param) : Layer(param), scale_filler_(param.scale_param().filler()) {
  if (!param.scale_param().has_filler()) scale_filler_.set_value(1);
}

std::vector<Shape> ScaleLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto& p = param().scale_param();
  const Shape& bottom = bottoms[0];
  const SpannedAxes span = scale_is_bottom() ? matching_axes(bottom, p.axis(), bottoms[1], "scale_param")
                                             : spanned_axes(bottom, p.axis(), p.num_axes(), "scale_param");
  shape_.fix(bottom.slice(span.begin, span.end), has_bias() && scale_is_bottom() ? "bias" : "scale");
  outer_ = bottom.count(0, span.begin);
  count_ = bottom.count(span.begin, span.end);
  inner_ = bottom.count(span.end);
  return {bottom};
}

std::vector<ParamDecl> ScaleLayer::params() const {
  std::vector<ParamDecl> decls;
  if (!scale_is_bottom()) {
    decls.push_back({shape_.get(), &scale_filler_});
    check_filler(scale_filler_, shape_.get(), "scale_param.filler");
  }
  if (has_bias()) {
    decls.push_back({shape_.get(), &param().scale_param().bias_filler()});
    check_filler(param().scale_param().bias_filler(), shape_.get(), "scale_param.bias_filler");
  }
  return decls;
}

namespace {

template <typename T>
class ScaleReference : public Kernel {
 public:
  explicit ScaleReference(const KernelRequest& request) {
    const auto& layer = request.layer<ScaleLayer>();
    outer_ = layer.outer();
    count_ = layer.count();
    inner_ = layer.inner();
    second_bottom_ = layer.scale_is_bottom();
    bias_ = layer.bias_place();
    book_scale(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    const T* scale = scale_of(run);
    const T* bias = bias_ >= 0 ? run.params[static_cast<size_t>(bias_)]->tensor().as<T>() : nullptr;
    T* y = run.tops[0].as<T>();
    for_rows([=](int64_t c, int64_t begin, int64_t end) {
      const T factor = scale[c], shift = bias ? bias[c] : T{0};
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * factor + shift;
    });
  }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    if (bias_ >= 0 && run.params[static_cast<size_t>(bias_)]->learns) {
      const size_t index = static_cast<size_t>(bias_);
      sum_rows(run.params[index]->gradient().as<T>(), run.accumulate[index] != 0,
               [=](int64_t i) -> double { return dy[i]; });
    }
    // Before the gradient of bottom 0, which may take the place of dy.
    const bool learned = !second_bottom_ && run.params[0]->learns;
    if (T* scale_diff = second_bottom_ ? run.bottom_diffs[1].as<T>()
                        : learned      ? run.params[0]->gradient().as<T>()
                                       : nullptr) {
      const T* x = run.bottoms[0].as<T>();
      sum_rows(scale_diff, !second_bottom_ && run.accumulate[0], [=](int64_t i) { return double{dy[i]} * x[i]; });
    }
    if (T* dx = run.bottom_diffs[0].as<T>()) {
      const T* scale = scale_of(run);
      for_rows([=](int64_t c, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] * scale[c];
      });
    }
  }

 private:
  const T* scale_of(const KernelRun& run) const {
    return (second_bottom_ ? run.bottoms[1] : run.params[0]->tensor()).template as<T>();
  }

  /// body(element of the scale, begin, end) for each run of elements that it scales.
  template <typename Body>
  void for_rows(const Body& body) const {
    parallel_for(outer_ * count_, 1 + (1 << 14) / inner_,
                 [&](int64_t row) { body(row % count_, row * inner_, (row + 1) * inner_); });
  }

  /// sums[c] = (add ? sums[c] : 0) + sum of value(i) over the elements that c scales.
  template <typename Value>
  void sum_rows(T* sums, bool add, const Value& value) const {
    parallel_for(count_, 1 + (1 << 14) / (outer_ * inner_), [&](int64_t c) {
      double sum = add ? sums[c] : T{0};
      for (int64_t o = 0; o < outer_; ++o) {
        const int64_t begin = (o * count_ + c) * inner_;
        for (int64_t i = begin; i < begin + inner_; ++i) sum += value(i);
      }
      sums[c] = static_cast<T>(sum);
    });
  }

  int64_t outer_, count_, inner_;
  bool second_bottom_;
  int bias_;  // index of the bias among the parameters, -1: none
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Scale", ScaleLayer);
ROBUSTA_REGISTER_REFERENCE("Scale", ScaleReference);

}  // namespace robusta
