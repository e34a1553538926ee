// ContrastiveLoss: fields, shapes and the reference kernel, which computes in double.

#include "layers/types/contrastive_loss/contrastive_loss.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/finite_numbers.h"
#include "layers/kit/kernel.h"
#include "layers/kit/labels.h"
#include "layers/kit/math.h"

namespace robusta {

ContrastiveLossLayer::ContrastiveLossLayer(const caffe::LayerParameter& param) : Layer(param) {
  require_finite(param.contrastive_loss_param().margin(), "contrastive_loss_param.margin");
}

std::vector<Shape> ContrastiveLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_same_items({bottoms[0], bottoms[1]});
  if (bottoms[2].count() != bottoms[0][0]) {
    throw Error(ErrorKind::kConfig, str("there are ", bottoms[0][0], " pairs, but bottom 2 (", bottoms[2].str(),
                                        ") does not hold one number for each of them"))
        .in_field("bottom");
  }
  return {Shape{}};
}

namespace {

template <typename T>
class ContrastiveLossReference : public Kernel {
 public:
  explicit ContrastiveLossReference(const KernelRequest& request)
      : pairs_(request.bottoms[0].shape[0]),
        length_(request.bottoms[0].shape.count(1)),
        f_(request.layers[0]->param()) {
    booking_.reads_bottoms = {true, true, true};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    require_finite_numbers(run.bottoms[2].as<T>(), pairs_, bad_similarity(*run.pass));
    double sum = 0;
    for (int64_t n = 0; n < pairs_; ++n) sum += f_.value(square(run, n), similar(run, n));
    run.tops[0].as<T>()[0] = static_cast<T>(sum / (2 * divisor()));
  }

  void backward(const KernelRun& run) override {
    const T *a = run.bottoms[0].as<T>(), *b = run.bottoms[1].as<T>();
    for (int bottom = 0; bottom < 2; ++bottom) {
      if (!run.bottom_diffs[bottom]) continue;
      T* dx = run.bottom_diffs[bottom].as<T>();
      const double share = (bottom == 0 ? 1 : -1) * run.top_diffs[0].as<T>()[0] / divisor();
      parallel_for(pairs_, (1 << 12) / (length_ + 1) + 1, [=, this, &run](int64_t n) {
        const double scale = share * f_.slope(square(run, n), similar(run, n));
        for (int64_t i = n * length_; i < (n + 1) * length_; ++i) {
          dx[i] = static_cast<T>(scale * (static_cast<double>(a[i]) - b[i]));
        }
      });
    }
  }

 private:
  double divisor() const { return static_cast<double>(std::max<int64_t>(pairs_, 1)); }

  static bool similar(const KernelRun& run, int64_t n) { return to_label(run.bottoms[2].as<T>()[n]) != 0; }

  double square(const KernelRun& run, int64_t n) const {
    const T *a = run.bottoms[0].as<T>(), *b = run.bottoms[1].as<T>();
    double sum = 0;
    for (int64_t i = n * length_; i < (n + 1) * length_; ++i) {
      const double difference = static_cast<double>(a[i]) - b[i];
      sum += difference * difference;
    }
    return sum;
  }

  int64_t pairs_, length_;
  PairCost<ExactMath<double>> f_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ContrastiveLoss", ContrastiveLossLayer);
ROBUSTA_REGISTER_REFERENCE("ContrastiveLoss", ContrastiveLossReference);

}  // namespace robusta
