// BoxOutput on the GPU: a thread decodes each box of a map that was found. The list of these is the host's and is
// written anew in every run, in memory that GPUs reach: nothing of the pass before is under way then, as the net has
// waited for the values that the list was made from. Everything is f32: 16 bits would move the boxes.

#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/box_output/box_output.h"

namespace robusta {
namespace {

/// Those of one map; the first map writes what stands for none.
struct WriteBoxes {
  BoxMap map;
  int32_t own;
  const ProposedBox* found;
  const float* x;
  float *boxes, *scores;
  ROBUSTA_GPU void operator()(int64_t row) const {
    const int32_t wanted = found[row].map < 0 ? 0 : found[row].map;
    if (wanted == own) found[row].write(map, x, row, boxes, scores);
  }
};

class BoxOutputGpu : public Kernel {
 public:
  explicit BoxOutputGpu(const KernelRequest& request)
      : layer_(request.layer<BoxOutputLayer>()), rows_(request.tops[0].shape[0]) {
    book_box_output(request, booking_);
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    found_ =
        std::static_pointer_cast<ProposedBox>(device.host_memory(static_cast<size_t>(rows_) * sizeof(ProposedBox)));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(rows_, static_cast<int64_t>(layer_.found().size()));
    std::copy_n(layer_.found().begin(), rows, found_.get());
    for (size_t i = 0; i < layer_.maps().size(); ++i) {
      for_each(run.stream, rows,
               WriteBoxes{.map = layer_.maps()[i],
                          .own = static_cast<int32_t>(i),
                          .found = found_.get(),
                          .x = run.bottoms[i].as<float>(),
                          .boxes = run.tops[0].as<float>(),
                          .scores = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr});
    }
  }

  void backward(const KernelRun&) override {}

 private:
  const BoxOutputLayer& layer_;
  int64_t rows_;
  std::shared_ptr<ProposedBox> found_;
};

std::unique_ptr<Kernel> make_box_output_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<BoxOutputGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("BoxOutput", "gpu", 10, make_box_output_gpu);

}  // namespace robusta
