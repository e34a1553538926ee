/// Losses of the YOLO detectors: their meaning, and the kernel of the CPU.
///
///   L = sum of e^2 / divisor over the errors e of all numbers that are predicted (kit/anchors.h)
///
/// As in Darknet, the gradient is made of the errors and not of L: d = e * s / items. L only shows how large they are.
/// Bottoms: the predictions; boxes that are there, in rows of numbers. Top: the loss, a scalar.
///
/// What the errors are is given once, as a rule: a class template over the functions it is made of (math.h), so that
/// one text serves the reference and GPUs (backends/gpu/anchor_loss.h).
///   template <typename Math>
///   struct Rule {
///     using T = typename Math::T;
///     explicit Rule(const AnchorLossLayer& layer);
///     /// The errors of one prediction, all of its numbers.
///     template <typename X, typename L>
///     ROBUSTA_GPU void write(int64_t prediction, const X* x, const L* boxes, T* errors) const;
///     /// Which number of bottom 1 is wrong in this row, counted over the whole bottom; -1: none.
///     template <typename L>
///     ROBUSTA_GPU int64_t fault(int64_t row, const L* boxes) const;
///     /// s, of a prediction's number and its value.
///     ROBUSTA_GPU T slope(int64_t number, T x) const;
///   };
/// A row with a fault is an error, and counts as no box.
#pragma once

#include "base/parallel.h"
#include "layers/kit/anchors.h"
#include "layers/kit/kernel.h"
#include "layers/kit/loss_normalizer.h"
#include "layers/kit/math.h"

namespace robusta {

class AnchorLossLayer : public Layer {
 public:
  /// `by_items`: L is divided by the number of items.
  AnchorLossLayer(const caffe::LayerParameter& param, bool by_items)
      : Layer(param), of_loss_({}, by_items ? caffe::LossParameter::BATCH_SIZE : caffe::LossParameter::NONE) {}
  Arity arity() const override { return {2, 2, 1, 1}; }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    grid_ = grid_of(bottoms[0]);
    rows_ = rows_of(bottoms[1]);
    return {Shape{}};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 4 * static_cast<double>(bottoms[0].count());
  }

  // After infer_tops.
  const AnchorGrid& grid() const { return grid_; }
  int64_t rows() const { return rows_; }
  /// Both are means over the ranks in the end.
  double loss_divisor(StepReduce* ranks) const {
    return of_loss_.divisor(grid_.items, grid_.items, grid_.items, ranks);
  }
  double gradient_divisor(StepReduce* ranks) const {
    return of_gradient_.divisor(grid_.items, grid_.items, grid_.items, ranks);
  }
  /// Throws the Error{kData} of the number at this place of bottom 1.
  [[noreturn]] virtual void throw_bad_box(int64_t place, double value, const Pass& pass) const = 0;

 protected:
  virtual AnchorGrid grid_of(const Shape& predictions) const = 0;
  /// How many rows bottom 1 has, for this grid.
  virtual int64_t rows_of(const Shape& boxes) const = 0;
  /// Whether L is divided by the number of items, where that is known from the bottoms alone.
  void divide_loss_by_items(bool by_items) {
    of_loss_ = LossNormalizer({}, by_items ? caffe::LossParameter::BATCH_SIZE : caffe::LossParameter::NONE);
  }

 private:
  AnchorGrid grid_;
  int64_t rows_ = 0;  ///< of bottom 1
  LossNormalizer of_loss_, of_gradient_{{}, caffe::LossParameter::BATCH_SIZE};
};

/// `Rule`: over ExactMath<T>. Keeps the errors.
template <typename T, typename Rule>
class AnchorLossReference : public Kernel {
 public:
  explicit AnchorLossReference(const KernelRequest& request)
      : layer_(request.layer<AnchorLossLayer>()), rule_(layer_), count_(request.bottoms[0].count()) {
    booking_.reads_bottoms = {true, false};
    booking_.saved_bytes = static_cast<size_t>(count_) * sizeof(T);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *boxes = run.bottoms[1].as<T>();
    for (int64_t row = 0; row < layer_.rows(); ++row) {
      const int64_t place = rule_.fault(row, boxes);
      if (place >= 0) layer_.throw_bad_box(place, static_cast<double>(boxes[place]), *run.pass);
    }
    T* errors = static_cast<T*>(run.saved);
    parallel_for(layer_.grid().predictions(), 16, [=, this](int64_t p) { rule_.write(p, x, boxes, errors); });
    double sum = 0;
    for (int64_t i = 0; i < count_; ++i) sum += static_cast<double>(errors[i]) * errors[i];
    run.tops[0].as<T>()[0] = static_cast<T>(sum / layer_.loss_divisor(run.pass->ranks));
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *errors = static_cast<const T*>(run.saved);
    T* dx = run.bottom_diffs[0].as<T>();
    const T scale = static_cast<T>(run.top_diffs[0].as<T>()[0] / layer_.gradient_divisor(run.pass->ranks));
    parallel_for(count_, 1 << 13,
                 [=, this](int64_t i) { dx[i] = scale * errors[i] * rule_.slope(layer_.grid().number_of(i), x[i]); });
  }

 private:
  const AnchorLossLayer& layer_;
  Rule rule_;
  int64_t count_;
};

/// A factory for registering.
template <template <typename> class Rule>
std::unique_ptr<Kernel> make_anchor_loss_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<AnchorLossReference<T, Rule<ExactMath<T>>>>(request);
  });
}

}  // namespace robusta
