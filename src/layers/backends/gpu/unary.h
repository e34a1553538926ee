/// Layers that compute y = f(x) for each element (kit/unary.h), on the GPU. For files that nvcc compiles.
#pragma once

#include "device/gpu/pack.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/unary.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The functions of formulas (kit/math.h) as CUDA has them.
struct GpuMath {
  using T = float;
  static ROBUSTA_GPU T abs(T x) { return ::fabsf(x); }
  static ROBUSTA_GPU T exp(T x) { return ::expf(x); }
  static ROBUSTA_GPU T expm1(T x) { return ::expm1f(x); }
  static ROBUSTA_GPU T log(T x) { return ::logf(x); }
  static ROBUSTA_GPU T log1p(T x) { return ::log1pf(x); }
  static ROBUSTA_GPU T sqrt(T x) { return ::sqrtf(x); }
  static ROBUSTA_GPU T tanh(T x) { return ::tanhf(x); }
  static ROBUSTA_GPU T sigmoid(T x) { return 0.5f * ::tanhf(0.5f * x) + 0.5f; }
  /// The exponents of common use need no call of pow.
  static ROBUSTA_GPU T pow(T base, T exponent) {
    if (exponent == 0) return 1;
    if (exponent == 1) return base;
    return exponent == 2 ? base * base : ::powf(base, exponent);
  }
  static ROBUSTA_GPU T select(bool condition, T then, T otherwise) { return condition ? then : otherwise; }
};

template <typename T, typename Formula>
struct MapValues {
  static constexpr int kWidth = kPackWidth<T>;
  Formula f;
  const T* x;
  T* y;
  bool in_packs() const { return on_packs(x, y); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> values = load_pack<N>(x + i);
    for (int k = 0; k < N; ++k) values.at[k] = f.value(values.at[k]);
    store_pack(values, y + i);
  }
};

template <typename T, typename Formula>
struct MapSlopes {
  static constexpr int kWidth = kPackWidth<T>;
  Formula f;
  const T *s, *dy;
  T* dx;
  bool in_packs() const { return on_packs(s, dy, dx); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    const Pack<float, N> arguments = load_pack<N>(s + i);
    Pack<float, N> gradients = load_pack<N>(dy + i);
    for (int k = 0; k < N; ++k) gradients.at[k] *= f.slope(arguments.at[k]);
    store_pack(gradients, dx + i);
  }
};

/// f32, bf16 or f16 in any layout. `Formula`: over GpuMath.
template <typename T, typename Formula>
class UnaryGpu : public Kernel {
 public:
  explicit UnaryGpu(const KernelRequest& request) : f_(make_formula<Formula>(request)) {
    count_ = book_shared_layout(request, keeps_zero(f_), booking_);
    book_unary(f_.slope_from(), booking_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each_pack(run.stream, count_, MapValues<T, Formula>{f_, run.bottoms[0].as<T>(), run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* s = static_cast<const T*>(slope_argument(f_.slope_from(), run));
    for_each_pack(run.stream, count_,
                  MapSlopes<T, Formula>{f_, s, run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>()});
  }

 private:
  Formula f_;
  int64_t count_;
};

/// A factory for registering.
template <template <typename> class Formula>
std::unique_ptr<Kernel> make_unary_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<UnaryGpu<decltype(t), Formula<GpuMath>>>(request);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
