/// The fast kernels of RNN: the steps, then the output of all of them as one matrix product. `Machine`:
/// kit/recurrent/recurrent_steps.h.
#pragma once

#include "layers/kit/recurrent/recurrent_steps.h"
#include "layers/types/rnn/rnn.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// o = tanh(z)
template <typename Math, typename Stored>
struct TanhRows {
  int64_t width;
  const float* z;
  Stored* o;
  ROBUSTA_GPU void operator()(int64_t row, int64_t j) const {
    o[row * width + j] = static_cast<Stored>(Math::tanh(z[row * width + j]));
  }
};

/// dz = do (1 - o^2); `of_o` null: zero
template <typename Stored>
struct TanhSlopes {
  int64_t width;
  const Stored *o, *of_o;
  Stored* dz;
  ROBUSTA_GPU void operator()(int64_t row, int64_t j) const {
    const int64_t at = row * width + j;
    const float y = static_cast<float>(o[at]), dy = of_o ? static_cast<float>(of_o[at]) : 0.0f;
    dz[at] = static_cast<Stored>(dy * (1 - y * y));
  }
};

template <typename Machine>
class RnnKernel : public Kernel {
 public:
  using Stored = typename Machine::Stored;

  explicit RnnKernel(const KernelRequest& request)
      : layer_(request.layer<RnnLayer>()),
        rows_(layer_.size().rows()),
        hidden_(layer_.size().hidden),
        products_(request.tuner),
        steps_(layer_, request, memory_, products_, booking_) {
    expect_products(request);
    booking_.reads_tops.assign(request.tops.size(), false);
    booking_.reads_tops[0] = true;
    const auto count = static_cast<size_t>(rows_ * hidden_);
    h_at_ = memory_.saved.add(count * sizeof(Stored));
    z_at_ = memory_.forward.add(count * sizeof(float));
    if (!request.backward) kept_ = Machine::keep(output_use());
    right_at_ = memory_.forward.add(Machine::right_bytes(output_use(), kept_));
    dz_at_ = memory_.backward.add(count * sizeof(Stored));
    dh_at_ = memory_.backward.add(count * sizeof(Stored));
    weights_at_ = memory_.backward.add(Machine::weights_bytes(hidden_ * hidden_));
    sums_at_ = memory_.backward.add(Machine::sum_bytes(rows_, hidden_));
    memory_.book(booking_);
  }
  std::string describe() const override { return named(Machine::kName, products_.describe()); }

  void forward(const KernelRun& run) override {
    Machine on(run, products_);
    Stored* h = at<Stored>(run.saved, h_at_);
    steps_.forward(on, run, h);
    float* z = at<float>(run.scratch, z_at_);
    on.each(rows_, hidden_, FillRows<float>{hidden_, run.params[layer_.output_bias()]->tensor().as<float>(), z});
    const auto w =
        on.right(*run.params[layer_.output_weights()], output_use(), kept_, at_offset(run.scratch, right_at_));
    on.times(rows_, hidden_, hidden_, h, w, true, z);
    on.each(rows_, hidden_, TanhRows<typename Machine::Math, Stored>{hidden_, z, run.tops[0].as<Stored>()});
  }

  void check(const Pass&) override { steps_.check(); }
  void backward(const KernelRun& run) override {
    Machine on(run, products_);
    Stored* dh = at<Stored>(run.scratch, dh_at_);
    output_gradients(on, run, dh);
    steps_.backward(on, run, dh);
  }

 private:
  template <typename T>
  static T* at(void* base, size_t offset) {
    return static_cast<T*>(at_offset(base, offset));
  }

  /// h W^T, for all steps at once.
  RightUse output_use() const {
    return {.op = Op::kTransposed, .rows = hidden_, .columns = hidden_, .products = 1, .left_rows = rows_};
  }

  /// dW = dz^T h
  ProductShape weight_gradient() const { return {Op::kTransposed, Op::kPlain, hidden_, hidden_, rows_}; }
  /// dh = dz W
  ProductShape state_gradient() const { return {Op::kPlain, Op::kPlain, rows_, hidden_, hidden_}; }
  void expect_products(const KernelRequest& request) {
    Machine::expect_right(output_use(), products_);
    if (!request.backward) return;
    if (request.param_grads[layer_.output_weights()]) products_.expect(weight_gradient());
    products_.expect(state_gradient());
  }

  void output_gradients(Machine& on, const KernelRun& run, Stored* dh) const {
    Stored* dz = at<Stored>(run.scratch, dz_at_);
    on.each(rows_, hidden_, TanhSlopes<Stored>{hidden_, run.tops[0].as<Stored>(), run.top_diffs[0].as<Stored>(), dz});
    const Param &w = *run.params[layer_.output_weights()], &b = *run.params[layer_.output_bias()];
    if (w.learns) {
      on.product(weight_gradient(), dz, at<Stored>(run.saved, h_at_), run.accumulate[layer_.output_weights()] != 0,
                 w.gradient().as<float>());
    }
    if (b.learns) {
      on.sum_rows(rows_, hidden_, dz, run.accumulate[layer_.output_bias()] != 0, b.gradient().as<float>(),
                  at_offset(run.scratch, sums_at_));
    }
    on.product(state_gradient(), dz, on.weights(w, at_offset(run.scratch, weights_at_)), false, dh);
  }

  const RnnLayer& layer_;
  int64_t rows_, hidden_;
  typename Machine::Kept kept_;  ///< output weights
  RecurrentMemory memory_;
  typename Machine::Products products_;
  RecurrentSteps<Machine, TanhCell> steps_;
  size_t h_at_, z_at_, right_at_, dz_at_, dh_at_, weights_at_, sums_at_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
