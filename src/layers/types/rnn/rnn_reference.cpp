// The reference kernel of RNN: the steps, then the output row by row.

#include <cmath>

#include "layers/kit/recurrent/reference_steps.h"
#include "layers/types/rnn/rnn.h"

namespace robusta {
namespace {

template <typename T>
class RnnReference : public Kernel {
 public:
  explicit RnnReference(const KernelRequest& request)
      : layer_(request.layer<RnnLayer>()),
        rows_(layer_.size().rows()),
        hidden_(layer_.size().hidden),
        steps_(layer_, request, saved_, scratch_, booking_) {
    booking_.reads_tops.assign(request.tops.size(), false);
    booking_.reads_tops[0] = true;
    const size_t bytes = static_cast<size_t>(rows_ * hidden_) * sizeof(T);
    h_at_ = saved_.add(bytes);
    dh_at_ = scratch_.add(bytes);
    dz_at_ = scratch_.add(static_cast<size_t>(hidden_) * sizeof(T));
    booking_.saved_bytes = saved_.bytes();
    booking_.backward_scratch = scratch_.bytes();
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T *h = hidden_states(run), *o = run.tops[0].as<T>();
    steps_.forward(run, h);
    for (int64_t row = 0; row < rows_; ++row) {
      T* z = o + row * hidden_;
      reference::affine(param(run, layer_.output_weights()), param(run, layer_.output_bias()), h + row * hidden_,
                        hidden_, hidden_, z);
      for (int64_t j = 0; j < hidden_; ++j) z[j] = std::tanh(z[j]);
    }
  }

  void backward(const KernelRun& run) override {
    const T *o = run.tops[0].as<T>(), *of_o = run.top_diffs[0].as<T>(), *h = hidden_states(run);
    T *dh = static_cast<T*>(at_offset(run.scratch, dh_at_)), *dz = static_cast<T*>(at_offset(run.scratch, dz_at_));
    const reference::ParamGradient<T> weights(run, layer_.output_weights()), bias(run, layer_.output_bias());
    for (int64_t row = 0; of_o && row < rows_; ++row) {
      const int64_t first = row * hidden_;
      for (int64_t j = 0; j < hidden_; ++j) dz[j] = of_o[first + j] * (1 - o[first + j] * o[first + j]);
      weights.add_outer(dz, h + first, hidden_, hidden_);
      bias.add(dz, hidden_);
      reference::transposed_product(param(run, layer_.output_weights()), dz, hidden_, hidden_, false, dh + first);
    }
    steps_.backward(run, of_o ? dh : nullptr);
  }

 private:
  static const T* param(const KernelRun& run, size_t i) { return run.params[i]->tensor().template as<T>(); }
  T* hidden_states(const KernelRun& run) const { return static_cast<T*>(at_offset(run.saved, h_at_)); }

  const RnnLayer& layer_;
  int64_t rows_, hidden_;
  ScratchPlan saved_, scratch_;
  reference::ReferenceSteps<T, TanhCell> steps_;
  size_t h_at_, dh_at_, dz_at_;
};

}  // namespace

ROBUSTA_REGISTER_REFERENCE("RNN", RnnReference);

}  // namespace robusta
