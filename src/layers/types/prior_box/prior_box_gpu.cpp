// PriorBox on the GPU: a thread for each number that comes out, in f32: 16 bits would move the corners of boxes.

#include "device/gpu/copy.h"
#include "device/gpu/divisor.h"
#include "device/gpu/for_each.h"
#include "layers/backends/gpu/constants.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/prior_box/prior_box.h"

namespace robusta {
namespace {

struct PriorEach {
  PriorGrid grid;
  Divisor by_width, by_boxes;
  const PriorSize* sizes;
  float variances[4];
  int64_t coordinates;
  float* out;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t which = i % 4;
    if (i >= coordinates) {
      out[i] = variances[which];
      return;
    }
    int64_t h = i / 4;
    const int64_t box = by_boxes.take_off(h), w = by_width.take_off(h);
    out[i] = grid.coordinate(h, w, sizes[box], which);
  }
};

class PriorBoxGpu : public Kernel {
 public:
  explicit PriorBoxGpu(const KernelRequest& request)
      : layer_(request.layer<PriorBoxLayer>()), sizes_(copied_to_device(request, numbers_of(layer_.sizes()))) {
    book_prior_box(request, booking_);
    booking_.top_types = {DType::kF32};
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const PriorGrid& grid = layer_.grid();
    const auto& v = layer_.variances();
    for_each(run.stream, run.tops[0].count(),
             PriorEach{.grid = grid,
                       .by_width = Divisor(grid.width),
                       .by_boxes = Divisor(grid.boxes),
                       .sizes = static_cast<const PriorSize*>(sizes_.data()),
                       .variances = {v[0], v[1], v[2], v[3]},
                       .coordinates = grid.coordinates(),
                       .out = run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& gradient : run.bottom_diffs) {
      if (gradient) gpu_fill_zero(run.stream, gradient.data, gradient.desc.bytes());
    }
  }

 private:
  static std::span<const float> numbers_of(const std::vector<PriorSize>& sizes) {
    static_assert(sizeof(PriorSize) == 2 * sizeof(float));
    return {&sizes[0].width, 2 * sizes.size()};
  }

  const PriorBoxLayer& layer_;
  DeviceBuffer sizes_;
};

std::unique_ptr<Kernel> make_prior_box_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<PriorBoxGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("PriorBox", "gpu", 10, make_prior_box_gpu);

}  // namespace robusta
