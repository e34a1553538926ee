// Eltwise: reference kernel.
//
//   SUM   y = sum of c_b x_b     dx_b = c_b dy
//   PROD  y = product of x_b     dx_b = dy * (product of the others), or dy * (y / x_b), no number where x_b = 0
//   MAX   y = largest x_b        dx_b = dy where x_b is it, else 0

#include "layers/kit/elementwise.h"
#include "layers/types/eltwise/eltwise.h"

namespace robusta {
namespace {

using Op = caffe::EltwiseParameter;

template <typename T>
class EltwiseReference : public Kernel {
 public:
  explicit EltwiseReference(const KernelRequest& request)
      : layer_(request.layer<EltwiseLayer>()), op_(layer_.operation()) {
    booking_.repeatable = true;
    booking_.reads_bottoms.assign(request.bottoms.size(), op_ != Op::SUM);
    booking_.reads_tops = {op_ == Op::PROD && !layer_.stable_prod_grad()};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T* y = run.tops[0].as<T>();
    parallel_for(run.tops[0].count(), kElementwiseGrain, [&](int64_t i) { y[i] = value(run, i); });
  }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    for (size_t b = 0; b < run.bottom_diffs.size(); ++b) {
      if (!run.bottom_diffs[b]) continue;
      T* dx = run.bottom_diffs[b].as<T>();
      parallel_for(run.bottom_diffs[b].count(), kElementwiseGrain,
                   [&](int64_t i) { dx[i] = dy[i] * slope(run, b, i); });
    }
  }

 private:
  static T at(const KernelRun& run, size_t bottom, int64_t i) { return run.bottoms[bottom].as<T>()[i]; }

  T value(const KernelRun& run, int64_t i) const {
    if (op_ == Op::MAX) return at(run, winner(run, i), i);
    T result = op_ == Op::PROD ? T{1} : T{0};
    for (size_t b = 0; b < run.bottoms.size(); ++b) {
      if (op_ == Op::PROD) result *= at(run, b, i);
      if (op_ == Op::SUM) result += static_cast<T>(layer_.coeff(static_cast<int>(b))) * at(run, b, i);
    }
    return result;
  }

  /// The bottom with the largest element. Equal: of the first two the second, later ones must be larger (as Caffe
  /// does).
  static size_t winner(const KernelRun& run, int64_t i) {
    size_t best = at(run, 0, i) > at(run, 1, i) ? 0 : 1;
    for (size_t b = 2; b < run.bottoms.size(); ++b) {
      if (at(run, b, i) > at(run, best, i)) best = b;
    }
    return best;
  }

  T slope(const KernelRun& run, size_t bottom, int64_t i) const {
    if (op_ == Op::SUM) return static_cast<T>(layer_.coeff(static_cast<int>(bottom)));
    if (op_ == Op::MAX) return winner(run, i) == bottom ? T{1} : T{0};
    if (!layer_.stable_prod_grad()) return run.tops[0].as<T>()[i] / at(run, bottom, i);
    T others = 1;
    for (size_t b = 0; b < run.bottoms.size(); ++b) {
      if (b != bottom) others *= at(run, b, i);
    }
    return others;
  }

  const EltwiseLayer& layer_;
  Op::EltwiseOp op_;
};

}  // namespace

ROBUSTA_REGISTER_REFERENCE("Eltwise", EltwiseReference);

}  // namespace robusta
