/// Layers that compute y = f(x) for each element, on the GPU. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/pack.h"
#include "layers/kit/elementwise.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// False, with a reason, for element types that GPU kernels do not take.
inline bool gpu_takes(const KernelRequest& request, std::string& why_not) {
  return request.dtype() != DType::kF64 || is_f32(request, why_not);
}

/// Makes `Stored<T>(request, more...)`, T being the type that activations are stored as.
template <template <typename> class Stored, typename... More>
std::unique_ptr<Kernel> make_stored(const KernelRequest& request, const More&... more) {
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<Stored<decltype(t)>>(request, more...);
  });
}

/// The same, T being what bottom 0 is stored as already: for kernels whose tops are f32 in any
/// case, or keep the type of their bottom.
template <template <typename> class Stored, typename... More>
std::unique_ptr<Kernel> make_as_bottom(const KernelRequest& request, const More&... more) {
  return with_storage(request.bottoms[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<Stored<decltype(t)>>(request, more...);
  });
}

template <typename T, typename Function>
struct MapValues {
  static constexpr int kWidth = kPackWidth<T>;
  Function f;
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

template <typename T, typename Function>
struct MapSlopes {
  static constexpr int kWidth = kPackWidth<T>;
  Function f;
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

/// `Function`: as for UnaryNative (elementwise.h), with value and slope ROBUSTA_GPU.
template <typename T, typename Function>
class UnaryGpu : public Kernel {
 public:
  explicit UnaryGpu(const KernelRequest& request) : f_(request) {
    const bool keeps_zero = f_.value(0.0f) == 0.0f && std::isfinite(f_.slope(0.0f));
    count_ = book_shared_layout(request, keeps_zero, booking_);
    book_unary(f_.slope_from(), booking_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each_pack(run.stream, count_, MapValues<T, Function>{f_, run.bottoms[0].as<T>(), run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* s = static_cast<const T*>(slope_argument(f_.slope_from(), run));
    for_each_pack(run.stream, count_,
                  MapSlopes<T, Function>{f_, s, run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>()});
  }

 private:
  Function f_;
  int64_t count_;
};

/// The factory of UnaryGpu<Function>.
template <typename Function>
std::unique_ptr<Kernel> make_unary_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<UnaryGpu<decltype(t), Function>>(request);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
