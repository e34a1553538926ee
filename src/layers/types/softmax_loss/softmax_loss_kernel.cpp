// SoftmaxWithLoss: the kernels of the CPU, L = -sum log p(label) / divisor and dx = (p - target) / divisor. Reference
// and native one differ in how they compute the softmax.
//
// The probabilities are kept from forward to backward, in the second top where there is one. Nobody keeps them when
// there is no backward.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "layers/kit/elementwise.h"
#include "layers/kit/labels.h"
#include "layers/kit/softmax.h"
#include "layers/types/softmax_loss/softmax_loss.h"

namespace robusta {
namespace {

template <typename T, void (*kSoftmax)(const AxisView&, const T*, T*)>
class SoftmaxLossKernel : public Kernel {
 public:
  SoftmaxLossKernel(const KernelRequest& request, const char* name)
      : layer_(request.layer<SoftmaxLossLayer>()),
        view_(request.bottoms[0].shape, layer_.axis()),
        per_sample_(view_.positions_per(request.bottoms[0].shape[0])),
        two_tops_(request.tops.size() == 2),
        name_(name) {
    booking_.reads_bottoms = {false, true};
    booking_.reads_tops = {false, two_tops_};
    // Nobody need use the probabilities.
    booking_.takes_missing_top_diffs = two_tops_;
    if (!two_tops_) (request.backward ? booking_.saved_bytes : booking_.forward_scratch) = request.bottoms[0].bytes();
    in_scratch_ = !two_tops_ && !request.backward;
  }
  std::string describe() const override { return name_; }

  void forward(const KernelRun& run) override {
    const T* labels = run.bottoms[1].as<T>();
    check_labels(labels, view_.positions(), per_sample_, view_.classes, layer_.normalizer().ignored(), *run.pass);
    T* p = probabilities(run);
    kSoftmax(view_, run.bottoms[0].as<T>(), p);
    double loss = 0;
    for (int64_t position = 0; position < view_.positions(); ++position) {
      const int label = to_label(labels[position]);
      if (label == layer_.normalizer().ignored()) continue;
      const int64_t outer = position / view_.inner, inner = position % view_.inner;
      const T probability = p[(outer * view_.classes + label) * view_.inner + inner];
      // At least FLT_MIN, as in Caffe: what has underflowed costs 87.3, not infinitely much. Not by std::max, which
      // would hide a NaN.
      loss -= std::log(probability < T{FLT_MIN} ? T{FLT_MIN} : probability);
    }
    divisor_ = divisor(labels, run.pass->ranks);
    run.tops[0].as<T>()[0] = static_cast<T>(loss / divisor_);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* labels = run.bottoms[1].as<T>();
    const T* p = probabilities(run);
    T* dx = run.bottom_diffs[0].as<T>();
    const double loss_weight = run.top_diffs[0] ? run.top_diffs[0].as<T>()[0] : T{0};
    const T scale = static_cast<T>(loss_weight / divisor_);
    parallel_for(view_.outer, (1 << 13) / (view_.classes * view_.inner + 1) + 1,
                 [&](int64_t outer) { gradient_of_item(outer, labels, p, scale, dx); });
    if (two_tops_ && run.top_diffs[1]) softmax_exact_backward(view_, p, run.top_diffs[1].as<T>(), dx, true);
  }

 private:
  T* probabilities(const KernelRun& run) const {
    if (two_tops_) return run.tops[1].as<T>();
    return static_cast<T*>(in_scratch_ ? run.scratch : run.saved);
  }

  double divisor(const T* labels, StepReduce* ranks) const {
    int64_t valid = view_.positions();
    if (const auto ignored = layer_.normalizer().ignored()) {
      valid -= std::count_if(labels, labels + view_.positions(), [&](T label) { return to_label(label) == ignored; });
    }
    return layer_.normalizer().divisor(valid, view_.positions(), view_.outer, ranks);
  }

  /// scale * (p * mass - target). Smoothing by e as in Intel's fork: with C the number of scores of an item, the target
  /// is 1 - e for the true class and e / C for the others, and `mass` their sum over C scores. e = 0: p - target.
  void gradient_of_item(int64_t outer, const T* labels, const T* p, T scale, T* dx) const {
    const int64_t scores = view_.classes * view_.inner, first = outer * scores;
    const T smoothing = layer_.label_smoothing();
    const T other = smoothing / static_cast<T>(scores);
    const T mass = 1 - smoothing + static_cast<T>(scores - 1) * other;
    for (int64_t i = first; i < first + scores; ++i) dx[i] = scale * (p[i] * mass - other);
    for (int64_t inner = 0; inner < view_.inner; ++inner) {
      const int label = to_label(labels[outer * view_.inner + inner]);
      if (label == layer_.normalizer().ignored()) {
        for (int64_t c = 0; c < view_.classes; ++c) dx[first + c * view_.inner + inner] = 0;
      } else {
        const int64_t i = first + label * view_.inner + inner;
        dx[i] = scale * (p[i] * mass - (1 - smoothing));
      }
    }
  }

  const SoftmaxLossLayer& layer_;
  AxisView view_;
  int64_t per_sample_;
  bool two_tops_, in_scratch_;
  double divisor_ = 1;  ///< of the last forward
  const char* name_;
};

std::unique_ptr<Kernel> make_softmax_loss_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<SoftmaxLossKernel<T, softmax_exact<T>>>(request, "reference");
  });
}

std::unique_ptr<Kernel> make_softmax_loss_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<SoftmaxLossKernel<float, softmax_fast>>(request, "native");
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("SoftmaxWithLoss", "reference", 0, make_softmax_loss_reference);
ROBUSTA_REGISTER_KERNEL("SoftmaxWithLoss", "native", 10, make_softmax_loss_native);

}  // namespace robusta
