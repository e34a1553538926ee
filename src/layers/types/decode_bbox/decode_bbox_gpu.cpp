// DecodeBBox on the GPU: a thread decodes each region that is kept. The list of these is the host's and is written anew
// in every run, in memory that GPUs reach: nothing of the pass before is under way then, as the net has waited for the
// values that the list was made from. Everything is f32: 16 bits would move the boxes.

#include <algorithm>

#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/decode_bbox/decode_bbox.h"

namespace robusta {
namespace {

struct WriteRegion {
  BoxStatistics statistics;
  const int64_t* kept;  ///< null: all are
  const float *codes, *regions;
  float* rows;
  ROBUSTA_GPU void operator()(int64_t row) const {
    write_region(statistics, kept ? kept[row] : row, codes, regions, rows + row * 5);
  }
};

class DecodeBboxGpu : public Kernel {
 public:
  explicit DecodeBboxGpu(const KernelRequest& request)
      : layer_(request.layer<DecodeBboxLayer>()), rows_(request.tops[0].shape[0]) {
    book_decode_bbox(request, booking_);
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.host_work = layer_.sizing_bottom() >= 0;
    device_ = request.device ? request.device : &cpu_device();
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    int64_t rows = rows_;
    if (!layer_.keeps_all()) {
      rows = std::min(rows, static_cast<int64_t>(layer_.kept().size()));
      write_kept(rows);
    }
    for_each(run.stream, rows,
             WriteRegion{.statistics = layer_.statistics(),
                         .kept = layer_.keeps_all() ? nullptr : kept_.get(),
                         .codes = run.bottoms[0].as<float>(),
                         .regions = run.bottoms[1].as<float>(),
                         .rows = run.tops[0].as<float>()});
  }

  void backward(const KernelRun&) override {}

 private:
  void write_kept(int64_t rows) {
    if (!kept_)
      kept_ = std::static_pointer_cast<int64_t>(device_->host_memory(static_cast<size_t>(rows_) * sizeof(int64_t)));
    std::copy_n(layer_.kept().begin(), rows, kept_.get());
  }

  const DecodeBboxLayer& layer_;
  int64_t rows_;
  Device* device_;
  std::shared_ptr<int64_t> kept_;  // in memory that GPUs reach, once it is wanted
};

std::unique_ptr<Kernel> make_decode_bbox_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<DecodeBboxGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("DecodeBBox", "gpu", 10, make_decode_bbox_gpu);

}  // namespace robusta
