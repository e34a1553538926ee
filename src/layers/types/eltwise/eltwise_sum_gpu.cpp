// Eltwise sums on the GPU, for any layout, alone and with the ReLU that follows in a residual block.

#include "device/gpu/copy.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/weighted_sum.h"
#include "layers/types/eltwise/eltwise_chain.h"
#include "layers/types/eltwise/eltwise_gpu.h"

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
class EltwiseSumGpu : public Kernel {
 public:
  explicit EltwiseSumGpu(const KernelRequest& request) {
    const EltwiseChain chain(request);
    fused_ = bool{chain.relu};
    plain_ = chain.eltwise->plain_sum();
    if (fused_) slope_ = chain.relu->slope();
    for (size_t b = 0; b < request.bottoms.size(); ++b) {
      terms_.push_back({nullptr, chain.eltwise->coeff(static_cast<int>(b))});
    }
    count_ = book_eltwise_sum(request, chain, booking_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for (size_t b = 0; b < terms_.size(); ++b) terms_[b].data = run.bottoms[b].as<T>();
    gpu_weighted_sum<T>(run.stream, terms_, slope_, run.tops[0].as<T>(), count_);
  }

  void backward(const KernelRun& run) override {
    const T* first = nullptr;  // with factors of 1: the gradient that the others only copy
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

  bool fused_, plain_;
  float slope_ = 1;
  std::vector<GpuSumTerm<T>> terms_;  // data is set by each run; here because a run allocates nothing
  int64_t count_;
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

std::unique_ptr<Kernel> make_eltwise_sum_gpu(const KernelRequest& request) {
  return make_stored<EltwiseSumGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET

}  // namespace robusta
