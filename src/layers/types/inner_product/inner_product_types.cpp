// The tuner is asked once for each size and set of products; its answer is recorded as those between ways are.

#include "layers/types/inner_product/inner_product_types.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "base/str.h"
#include "device/device.h"
#include "layers/kit/trial_memory.h"
#include "layers/types/inner_product/amx_products.h"
#include "layers/types/inner_product/inner_product_ways.h"

namespace robusta {
namespace {

using enum InnerProductStep;

/// The products in either type, on memory as parameters and activations have it.
class TypeTrial {
 public:
  TypeTrial(const KernelRequest& request, const InnerProductSize& whole)
      : size_(timed_part(whole)), wanted_(request), keeps_(!request.backward) {
    ways_[static_cast<size_t>(kForward)] = &fastest_way(whole, kForward, request.tuner);
    if (wanted_.weights)
      ways_[static_cast<size_t>(kWeightGradient)] = &fastest_way(whole, kWeightGradient, request.tuner);
    if (wanted_.data) ways_[static_cast<size_t>(kDataGradient)] = &fastest_way(whole, kDataGradient, request.tuner);
  }

  void run_bf16() {
    make_room();
    const auto bf16 = [](const DeviceBuffer& buffer) { return static_cast<uint16_t*>(buffer.data()); };
    auto* packed = keeps_ ? static_cast<uint32_t*>(packed_.data()) : nullptr;
    forward_.run({bf16(x_), floats(w_), packed, nullptr, bf16(y_), scratch_.data()});
    if (wanted_.weights) weight_gradient_.run({bf16(y_), bf16(x_), false, floats(dw_), scratch_.data()});
    if (wanted_.data) data_gradient_.run({bf16(y_), floats(w_), bf16(x_), scratch_.data()});
  }

  void run_f32() {
    make_room();
    run_f32(kForward, x_, w_, y_);
    if (wanted_.weights) run_f32(kWeightGradient, y_, x_, dw_);
    if (wanted_.data) run_f32(kDataGradient, y_, w_, x_);
  }

 private:
  static float* floats(const DeviceBuffer& buffer) { return static_cast<float*>(buffer.data()); }
  ProductShape shape(InnerProductStep step) const { return product_shape(size_, step); }
  const ProductWay& way(InnerProductStep step) const { return *ways_[static_cast<size_t>(step)]; }
  void run_f32(InnerProductStep step, const DeviceBuffer& a, const DeviceBuffer& b, const DeviceBuffer& c) const {
    way(step).run(shape(step), floats(a), floats(b), false, floats(c), scratch_.data());
  }

  /// Once, and only where something is timed.
  void make_room() {
    if (x_.data()) return;
    const int64_t weights = size_.outputs * size_.inputs, x = size_.rows * size_.inputs, y = size_.rows * size_.outputs;
    const size_t scratch = std::max({forward_.scratch_bytes(), data_gradient_.scratch_bytes(),
                                     weight_gradient_.scratch_bytes(), way(kForward).scratch_bytes(shape(kForward))});
    const size_t packed = keeps_ ? forward_.packed_bytes() : 0;
    require_room_for_trial(static_cast<size_t>(2 * weights + x + y) * sizeof(float) + scratch + packed);
    x_ = ones(x);
    y_ = ones(y);
    w_ = ones(weights);
    if (wanted_.weights) dw_ = ones(weights);
    scratch_ = ones(static_cast<int64_t>(scratch / sizeof(float)));
    packed_ = ones(static_cast<int64_t>(packed / sizeof(float)) + 1);
    if (keeps_) forward_.pack(floats(w_), static_cast<uint32_t*>(packed_.data()));
  }
  static DeviceBuffer ones(int64_t count) {
    DeviceBuffer buffer(cpu_device(), static_cast<size_t>(count) * sizeof(float));
    std::fill_n(floats(buffer), count, 1.0f);
    return buffer;
  }

  const InnerProductSize size_;
  const WantedSteps wanted_;
  const bool keeps_;  // rounded weights
  const int64_t workers_ = omp_get_max_threads();
  const amx::ForwardProduct forward_{size_, workers_};
  const amx::DataGradient data_gradient_{size_, workers_};
  const amx::WeightGradient weight_gradient_{size_, workers_};
  std::array<const ProductWay*, 3> ways_ = {};  // of f32, by step
  DeviceBuffer x_, y_, w_, dw_, scratch_, packed_;
};

}  // namespace

bool is_faster_in_f32(const KernelRequest& request) {
  constexpr int64_t kWorthTiming = int64_t{1} << 21;  // multiplications
  if (!request.tuner) return false;
  const InnerProductSize& size = request.layer<InnerProductLayer>().size();
  if (size.rows * size.inputs * size.outputs < kWorthTiming) return request.bottoms[0].dtype == DType::kF32;
  TypeTrial trial(request, size);
  const WantedSteps wanted(request);
  const std::string key =
      str("inner_product/type/r", size.rows, "i", size.inputs, "o", size.outputs, request.backward ? "" : "/inference",
          wanted.weights ? "/weights" : "", wanted.data ? "/data" : "");
  const auto run = [&](int type) { type == 0 ? trial.run_bf16() : trial.run_f32(); };
  return chosen_or_first([&] { return request.tuner->choose(key, {"bf16", "f32"}, run); }) == 1;
}

}  // namespace robusta
