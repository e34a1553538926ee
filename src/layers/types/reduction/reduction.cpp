// Reduction: shapes, and the reference kernel, which sums in double.

#include "layers/types/reduction/reduction.h"

#include "base/parallel.h"
#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {

std::vector<Shape> ReductionLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const int axis = canonical_axis(bottoms[0], param().reduction_param().axis(), "reduction_param.axis");
  rows_ = bottoms[0].count(0, axis);
  columns_ = bottoms[0].count(axis);
  return {bottoms[0].slice(0, axis)};
}

double ReductionLayer::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const {
  return static_cast<double>(bottoms[0].count());
}

double ReductionLayer::factor() const {
  const double coeff = param().reduction_param().coeff();
  return op() == caffe::ReductionParameter::MEAN ? coeff / static_cast<double>(columns_) : coeff;
}

namespace {

template <typename T>
class ReductionReference : public Kernel {
 public:
  explicit ReductionReference(const KernelRequest& request) : layer_(request.layer<ReductionLayer>()) {
    book_reduction(layer_.op(), booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    for_rows([=, this](int64_t row) {
      double sum = 0;
      for (int64_t i = row * layer_.columns(); i < (row + 1) * layer_.columns(); ++i) {
        sum += reduced<double>(layer_.op(), x[i]);
      }
      y[row] = static_cast<T>(sum * layer_.factor());
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    for_rows([=, this](int64_t row) {
      const T gradient = static_cast<T>(layer_.factor() * dy[row]);
      for (int64_t i = row * layer_.columns(); i < (row + 1) * layer_.columns(); ++i) {
        dx[i] = gradient * (x ? reduced_slope(layer_.op(), x[i]) : T{1});
      }
    });
  }

 private:
  template <typename Body>
  void for_rows(const Body& body) const {
    parallel_for(layer_.rows(), 1 + (1 << 14) / layer_.columns(), body);
  }

  const ReductionLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Reduction", ReductionLayer);
ROBUSTA_REGISTER_REFERENCE("Reduction", ReductionReference);

}  // namespace robusta
