// Bias: shapes, and the reference kernel: y = x + bias, dx = dy, and db = the sum of dy over all that shares an element
// of the bias, carried in double.

#include "layers/types/bias/bias.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/kernel.h"
#include "layers/kit/spanned_axes.h"

namespace robusta {

std::vector<Shape> BiasLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto& p = param().bias_param();
  const Shape& bottom = bottoms[0];
  const SpannedAxes span = bias_is_bottom() ? matching_axes(bottom, p.axis(), bottoms[1], "bias_param")
                                            : spanned_axes(bottom, p.axis(), p.num_axes(), "bias_param");
  if (!bias_is_bottom()) shape_.fix(bottom.slice(span.begin, span.end), "bias");
  outer_ = bottom.count(0, span.begin);
  count_ = bottom.count(span.begin, span.end);
  inner_ = bottom.count(span.end);
  return {bottom};
}

std::vector<ParamDecl> BiasLayer::params() const {
  if (bias_is_bottom()) return {};
  check_filler(param().bias_param().filler(), shape_.get(), "bias_param.filler");
  return {{shape_.get(), &param().bias_param().filler()}};
}

namespace {

template <typename T>
class BiasReference : public Kernel {
 public:
  explicit BiasReference(const KernelRequest& request) {
    const auto& layer = request.layer<BiasLayer>();
    outer_ = layer.outer();
    count_ = layer.count();
    inner_ = layer.inner();
    second_bottom_ = layer.bias_is_bottom();
    book_bias(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    const T* bias = (second_bottom_ ? run.bottoms[1] : run.params[0]->tensor()).template as<T>();
    T* y = run.tops[0].as<T>();
    parallel_for(outer_ * count_, 1 + (1 << 14) / inner_, [=, this](int64_t row) {
      const T shift = bias[row % count_];
      for (int64_t i = row * inner_; i < (row + 1) * inner_; ++i) y[i] = x[i] + shift;
    });
  }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    if (second_bottom_ ? static_cast<bool>(run.bottom_diffs[1]) : run.params[0]->learns) {
      sum_rows(dy, !second_bottom_ && run.accumulate[0],
               (second_bottom_ ? run.bottom_diffs[1] : run.params[0]->gradient()).template as<T>());
    }
    T* dx = run.bottom_diffs[0].as<T>();
    if (dx && dx != dy) std::copy(dy, dy + outer_ * count_ * inner_, dx);
  }

 private:
  void sum_rows(const T* dy, bool add, T* sums) const {
    parallel_for(count_, 1 + (1 << 14) / (outer_ * inner_), [=, this](int64_t c) {
      double sum = add ? sums[c] : T{0};
      for (int64_t o = 0; o < outer_; ++o) {
        const int64_t begin = (o * count_ + c) * inner_;
        for (int64_t i = begin; i < begin + inner_; ++i) sum += dy[i];
      }
      sums[c] = static_cast<T>(sum);
    });
  }

  int64_t outer_, count_, inner_;
  bool second_bottom_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Bias", BiasLayer);
ROBUSTA_REGISTER_REFERENCE("Bias", BiasReference);

}  // namespace robusta
