// InnerProduct in bf16 by matrix units, where that is faster than in f32.

#include <algorithm>
#include <array>

#include "base/str.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/trial_memory.h"
#include "layers/kit/weights_stamp.h"
#include "layers/types/inner_product/amx_products.h"
#include "layers/types/inner_product/inner_product_ways.h"
#include "ops/amx/tile_products.h"

namespace robusta {
namespace {

using onednn::AlignedMemory;

/// Which products a pass has.
struct WantedSteps {
  bool data = false, weights = false;
  explicit WantedSteps(const KernelRequest& request)
      : data(request.backward && request.bottom_grads[0]), weights(request.backward && request.param_grads[0]) {}
};

size_t backward_scratch(const amx::InnerProducts& products, const WantedSteps& wanted) {
  return std::max(wanted.data ? products.data_scratch() : 0, wanted.weights ? products.weight_scratch() : 0);
}

class InnerProductAmx : public Kernel {
 public:
  explicit InnerProductAmx(const KernelRequest& request)
      : products_(request.layer<InnerProductLayer>().size()),
        // Weights that stay are rounded once, and then half as much is read.
        packed_(request.backward ? 0 : products_.packed_bytes()) {
    const WantedSteps wanted(request);
    booking_.reads_bottoms = {wanted.weights};
    booking_.forward_scratch = products_.forward_scratch();
    booking_.backward_scratch = backward_scratch(products_, wanted);
    booking_.kept_bytes = packed_.bytes();
  }

  std::string describe() const override { return "amx bf16"; }

  void forward(const KernelRun& run) override {
    const Param& weights = *run.params[0];
    const float* w = weights.tensor().as<float>();
    auto* packed = packed_.bytes() > 0 ? static_cast<uint32_t*>(packed_.data()) : nullptr;
    if (packed && stamp_.moved(w, weights.version)) products_.pack(w, packed);
    products_.forward(stored(run.bottoms[0]), w, packed,
                      run.params.size() > 1 ? run.params[1]->tensor().as<float>() : nullptr, stored(run.tops[0]),
                      run.scratch);
  }

  void backward(const KernelRun& run) override {
    const uint16_t* dy = stored(run.top_diffs[0]);
    const auto learns = [&](size_t i) { return run.params.size() > i && run.params[i]->learns; };
    const auto gradient = [&](size_t i) { return run.params[i]->gradient().as<float>(); };
    if (learns(0)) {
      products_.weight_gradient(dy, stored(run.bottoms[0]), run.accumulate[0] != 0, gradient(0), run.scratch);
    }
    if (learns(1)) products_.bias_gradient(dy, run.accumulate[1] != 0, gradient(1));
    if (run.bottom_diffs[0]) {
      products_.data_gradient(dy, run.params[0]->tensor().as<float>(), stored(run.bottom_diffs[0]), run.scratch);
    }
  }

 private:
  static uint16_t* stored(const Tensor& tensor) { return static_cast<uint16_t*>(tensor.data); }

  amx::InnerProducts products_;
  AlignedMemory packed_;  // of weights for nets that do not learn
  WeightsStamp stamp_;    // of these
};

/// The wanted products in either type, on memory of their own.
class TypeTrial {
 public:
  TypeTrial(const InnerProductSize& whole, const WantedSteps& wanted, Tuner* tuner)
      : size_(timed_part(whole)), wanted_(wanted), products_(size_) {
    using enum InnerProductStep;
    for (const InnerProductStep step : {kForward, kWeightGradient, kDataGradient}) {
      if (wants(step)) ways_[static_cast<size_t>(step)] = &fastest_way(whole, step, tuner);
    }
  }

  void run_bf16() {
    make_room();
    auto *x = static_cast<uint16_t*>(x_.data()), *y = static_cast<uint16_t*>(y_.data());
    products_.forward(x, w_.floats(), nullptr, nullptr, y, scratch_.data());
    if (wanted_.weights) products_.weight_gradient(y, x, false, dw_.floats(), scratch_.data());
    if (wanted_.data) products_.data_gradient(y, w_.floats(), x, scratch_.data());
  }

  void run_f32() {
    using enum InnerProductStep;
    make_room();
    run_f32(kForward, x_, w_, y_);
    if (wanted_.weights) run_f32(kWeightGradient, y_, x_, dw_);
    if (wanted_.data) run_f32(kDataGradient, y_, w_, x_);
  }

 private:
  bool wants(InnerProductStep step) const {
    if (step == InnerProductStep::kForward) return true;
    return step == InnerProductStep::kWeightGradient ? wanted_.weights : wanted_.data;
  }
  const ProductWay& way(InnerProductStep step) const { return *ways_[static_cast<size_t>(step)]; }
  ProductShape shape(InnerProductStep step) const { return product_shape(size_, step); }

  void run_f32(InnerProductStep step, const AlignedMemory& a, const AlignedMemory& b, const AlignedMemory& c) const {
    way(step).run(shape(step), a.floats(), b.floats(), false, c.floats(), scratch_.data());
  }

  /// Once, and only where something is timed.
  void make_room() {
    if (x_) return;
    const int64_t weights = size_.outputs * size_.inputs;
    const size_t scratch = std::max({products_.forward_scratch(), backward_scratch(products_, wanted_),
                                     way(InnerProductStep::kForward).scratch_bytes(shape(InnerProductStep::kForward))});
    require_room_for_trial(static_cast<size_t>(2 * weights) * sizeof(float) + scratch);
    x_ = ones(size_.rows * size_.inputs);
    y_ = ones(size_.rows * size_.outputs);
    w_ = ones(weights);
    if (wanted_.weights) dw_ = ones(weights);
    scratch_ = ones(static_cast<int64_t>(scratch / sizeof(float)));
  }
  static AlignedMemory ones(int64_t count) {
    AlignedMemory memory(static_cast<size_t>(count) * sizeof(float));
    std::fill_n(memory.floats(), count, 1.0f);
    return memory;
  }

  InnerProductSize size_;
  WantedSteps wanted_;
  amx::InnerProducts products_;
  std::array<const ProductWay*, 3> ways_ = {};  // of f32, by step
  AlignedMemory x_, y_, w_, dw_, scratch_;
};

/// Without what brings activations from one type to the other, which are few beside the weights.
bool is_faster_in_f32(const KernelRequest& request) {
  constexpr int64_t kWorthTiming = int64_t{1} << 21;  // multiplications
  const InnerProductSize& size = request.layer<InnerProductLayer>().size();
  if (!request.tuner || size.rows * size.inputs * size.outputs < kWorthTiming) return false;
  const WantedSteps wanted(request);
  const std::string key = str("inner_product/type/r", size.rows, "i", size.inputs, "o", size.outputs,
                              wanted.weights ? "/weights" : "", wanted.data ? "/data" : "");
  TypeTrial trial(size, wanted, request.tuner);
  const auto run = [&](int type) { type == 0 ? trial.run_bf16() : trial.run_f32(); };
  return chosen_or_first([&] { return request.tuner->choose(key, {"bf16", "f32"}, run); }) == 1;
}

std::unique_ptr<Kernel> make_inner_product_amx(const KernelRequest& request, std::string& why_not) {
  const auto& layer = request.layer<InnerProductLayer>();
  if (request.dtype() != DType::kBF16) {
    why_not = "computes in bf16";
  } else if (!amx::is_there()) {
    why_not = "this processor has no matrix units (AMX)";
  } else if (layer.size().transposed) {
    why_not = "takes weights as [outputs, inputs]";
  } else if (layer.group()) {
    why_not = "outputs shared out among ranks are the reference's";
  } else if (layer.normalizes()) {
    why_not = "normalize is the reference's";
  } else if (is_faster_in_f32(request)) {
    why_not = "is faster in f32 than in bf16";
  } else {
    return std::make_unique<InnerProductAmx>(request);
  }
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("InnerProduct", "amx", 20, make_inner_product_amx);

}  // namespace robusta
