// Eltwise sums on the GPU, for any layout, alone and with the ReLU that follows in a residual block.

#include "device/gpu/copy.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/weighted_sum.h"
#include "layers/types/eltwise/eltwise_gpu.h"
#include "layers/types/eltwise/eltwise_sum.h"

namespace robusta {
namespace {

/// What comes down through a ReLU whose result was y; y null: there is none.
template <typename T>
struct EltwiseGate {
  static constexpr int kWidth = kPackWidth<T>;
  const T *y, *dy;
  float slope, weight;
  T* dx;
  bool in_packs() const { return on_packs(y, dy, dx); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> gradients = load_pack<N>(dy + i);
    if (y) {
      const Pack<float, N> results = load_pack<N>(y + i);
      for (int k = 0; k < N; ++k) gradients.at[k] *= results.at[k] > 0 ? weight : slope * weight;
    } else {
      for (int k = 0; k < N; ++k) gradients.at[k] *= weight;
    }
    store_pack(gradients, dx + i);
  }
};

template <typename T>
class EltwiseSumGpu : public EltwiseSumKernel<GpuSumTerm<T>> {
  using Base = EltwiseSumKernel<GpuSumTerm<T>>;
  using Base::count_, Base::fused_, Base::plain_, Base::slope_, Base::terms_;

 public:
  using Base::Base;
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for (size_t b = 0; b < terms_.size(); ++b) terms_[b].data = run.bottoms[b].as<T>();
    gpu_weighted_sum<T>(run.stream, terms_, slope_, run.tops[0].as<T>(), count_);
  }

  void backward(const KernelRun& run) override {
    const T* first = nullptr;  // with factors of 1: the gradient that the others only copy
    // With other factors bottom 0 comes last: its gradient may take the place of dy.
    for (size_t b = terms_.size(); b-- > 0;) {
      T* dx = run.bottom_diffs[b].as<T>();
      if (!dx) continue;
      if (plain_ && first) {
        gpu_copy(run.stream, dx, first, static_cast<size_t>(count_) * sizeof(T));
      } else {
        pass_down(run, terms_[b].weight, dx);
        first = dx;
      }
    }
  }

 private:
  void pass_down(const KernelRun& run, float weight, T* dx) const {
    const T* dy = run.top_diffs[0].as<T>();
    if (!fused_ && dx == dy && weight == 1) return;
    for_each_pack(run.stream, count_, EltwiseGate<T>{fused_ ? run.tops[0].as<T>() : nullptr, dy, slope_, weight, dx});
  }
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

std::unique_ptr<Kernel> make_eltwise_sum_gpu(const KernelRequest& request) {
  return make_stored<EltwiseSumGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET

}  // namespace robusta
