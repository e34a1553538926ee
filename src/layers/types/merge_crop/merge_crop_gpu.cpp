// MergeCrop on the GPU: a thread for each element of the top looks into both bottoms.

#include "layers/backends/gpu/gather.h"
#include "layers/types/merge_crop/merge_crop.h"

namespace robusta {
namespace {

/// A null bottom counts as zeros.
template <typename T>
struct MergeEach {
  GatherPlaces first, second;
  const T *a, *b;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t p = a ? first(i) : -1, q = b ? second(i) : -1;
    y[i] = static_cast<T>((p < 0 ? 0.0f : static_cast<float>(a[p])) + (q < 0 ? 0.0f : static_cast<float>(b[q])));
  }
};

template <typename T>
class MergeCropGpu : public Kernel {
 public:
  explicit MergeCropGpu(const KernelRequest& request)
      : layer_(request.layer<MergeCropLayer>()),
        back_{GpuGather<T>(transposed(layer_.part(0), request.bottoms[0].count())),
              GpuGather<T>(transposed(layer_.part(1), request.bottoms[1].count()))} {
    book_merge_crop(booking_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each(run.stream, run.tops[0].count(),
             MergeEach<T>{.first = GatherPlaces(layer_.part(0)),
                          .second = GatherPlaces(layer_.part(1)),
                          .a = layer_.counts(0) ? run.bottoms[0].as<T>() : nullptr,
                          .b = layer_.counts(1) ? run.bottoms[1].as<T>() : nullptr,
                          .y = run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    for (const int bottom : {0, 1}) {
      const Tensor& diff = run.bottom_diffs[static_cast<size_t>(bottom)];
      if (!diff) continue;
      if (layer_.has_gradient(bottom)) {
        back_[bottom].run(run.stream, run.top_diffs[0].as<T>(), diff.as<T>());
      } else {
        gpu_fill_zero(run.stream, diff.data, diff.desc.bytes());
      }
    }
  }

 private:
  const MergeCropLayer& layer_;
  GpuGather<T> back_[2];
};

std::unique_ptr<Kernel> make_merge_crop_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  const auto& layer = request.layer<MergeCropLayer>();
  for (const int bottom : {0, 1}) {
    const Gather back = transposed(layer.part(bottom), request.bottoms[static_cast<size_t>(bottom)].count());
    if (!gpu_takes_gathers(layer.part(bottom), back, why_not)) return nullptr;
  }
  return make_stored<MergeCropGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("MergeCrop", "gpu", 10, make_merge_crop_gpu);

}  // namespace robusta
