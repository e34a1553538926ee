/// Sampled images (kit/sampling.h) on the GPU, plain or channels last: a thread for each element of the top, and for
/// each of the bottom in backward. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/booking.h"
#include "layers/kit/sampling.h"
#include "tensor/channels_last.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Without a share b may be infinite.
ROBUSTA_GPU inline float mixed(float a, float b, float share) { return share == 0 ? a : (1 - share) * a + share * b; }

template <typename T>
struct SampleEach {
  Sampling s;
  Divisor inner, width, height;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t at) const {
    int64_t outer = at;
    const int64_t k = inner.take_off(outer);
    const AxisSample w = s.w.sample(width.take_off(outer)), h = s.h.sample(height.take_off(outer));
    const T *upper = x + (outer * s.h.in + h.lower) * s.w.in * s.inner + k,
            *lower = x + (outer * s.h.in + h.upper) * s.w.in * s.inner + k;
    const int64_t left = w.lower * s.inner, right = w.upper * s.inner;
    const auto share = static_cast<float>(w.share);
    const float above = mixed(static_cast<float>(upper[left]), static_cast<float>(upper[right]), share);
    const float below = mixed(static_cast<float>(lower[left]), static_cast<float>(lower[right]), share);
    y[at] = static_cast<T>(mixed(above, below, static_cast<float>(h.share)));
  }
};

template <typename T>
struct SampleSlopeEach {
  Sampling s;
  Divisor inner, width, height;
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t at) const {
    int64_t outer = at;
    const int64_t k = inner.take_off(outer), j = width.take_off(outer), i = height.take_off(outer);
    const AxisRange rows = s.h.users(i), columns = s.w.users(j);
    double total = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const double share = s.h.share(i, h);
      const T* row = dy + (outer * s.h.out + h) * s.w.out * s.inner + k;
      for (int64_t w = columns.begin; share != 0 && w < columns.end; ++w) {
        const double both = share * s.w.share(j, w);
        if (both != 0) total += both * static_cast<double>(static_cast<float>(row[w * s.inner]));
      }
    }
    dx[at] = static_cast<T>(static_cast<float>(total));
  }
};

template <typename T>
class SamplingGpu : public Kernel {
 public:
  explicit SamplingGpu(const KernelRequest& request) : s_(request.layer<SamplingLayer>().sampling()) {
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.repeatable = true;
    const TensorDesc& bottom = request.bottoms[0];
    if (!s_.of_planes || !is_channels_last(bottom.layout)) return;
    for (const TensorDesc& each : request.bottoms) booking_.bottom_layouts.push_back(each.layout);
    booking_.top_layouts = {channels_last(request.tops[0])};
    s_.inner = bottom.shape[1];
    s_.outer = bottom.shape[0];
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each(run.stream, s_.count_out(),
             SampleEach<T>{.s = s_,
                           .inner = Divisor(s_.inner),
                           .width = Divisor(s_.w.out),
                           .height = Divisor(s_.h.out),
                           .x = run.bottoms[0].as<T>(),
                           .y = run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, s_.count_in(),
             SampleSlopeEach<T>{.s = s_,
                                .inner = Divisor(s_.inner),
                                .width = Divisor(s_.w.in),
                                .height = Divisor(s_.h.in),
                                .dy = run.top_diffs[0].as<T>(),
                                .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  Sampling s_;
};

inline std::unique_ptr<Kernel> make_gpu_sampling(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<SamplingGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// Registers it for a SamplingLayer's type: `ROBUSTA_REGISTER_GPU_SAMPLING(Interp);`
#define ROBUSTA_REGISTER_GPU_SAMPLING(type)                           \
  [[maybe_unused]] static const bool registered_gpu_sampling_##type = \
      ::robusta::register_kernel({#type, "gpu", ::robusta::kGpuKind, 10, ::robusta::make_gpu_sampling})
