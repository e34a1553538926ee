// DetectNetTransformation on the GPU: a thread for each sample that draws, and then for each pixel, for each number of
// the images, for each cell of the grid. Images and lists are f32: 16 bits do not hold the places of edges.
//
// The position of the pass is read from device memory, since recorded passes (CUDA graphs) see only that change.

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/constants.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/booking.h"
#include "layers/types/detectnet_transformation/detectnet_transformation.h"
#include "memory/placement.h"

namespace robusta {
namespace {

/// For reduce_all: finds the first number that cannot be in a list of objects.
struct FirstBadList {
  using Sum = int64_t;
  ObjectLists<float> lists;
  LabelReader reader;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t sample) const {
    const int64_t place = lists.fault(sample);
    return place < 0 ? kNoPlace : place;
  }
  ROBUSTA_GPU void store(Sum first) const { reader.report(first); }
};

class DetectNetTransformationGpu : public Kernel {
 public:
  explicit DetectNetTransformationGpu(const KernelRequest& request)
      : layer_(request.layer<DetectNetTransformationLayer>()),
        watch_(request, 1, layer_.rows() * kObjectNumbers, std::nullopt),
        mean_(copied_to_device(request, layer_.mean_image())),
        mapping_(copied_to_device(request, layer_.mapping())) {
    book_reads_nothing(2, booking_);
    booking_.bottom_types.assign(2, DType::kF32);
    booking_.top_types.assign(2, DType::kF32);
    booking_.reads_position = true;
    steps_ = align_up(reduce_all_scratch<FirstBadList>(layer_.samples()));
    booking_.forward_scratch = steps_ + DetectNetSteps<float>::scratch_bytes(layer_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const DetectNetSteps<float> steps(layer_, run, static_cast<char*>(run.scratch) + steps_,
                                      static_cast<const float*>(mean_.data()),
                                      static_cast<const float*>(mapping_.data()));
    const int64_t samples = layer_.samples();
    reduce_all(run.stream, samples, run.scratch,
               FirstBadList{steps.cover.lists, watch_.reader(run.bottoms[1].as<float>())});
    for_each(run.stream, samples, steps.draw);
    for_each(run.stream, samples * steps.color.pixels, steps.color);
    for_each(run.stream, run.tops[0].count(), steps.place);
    for_each(run.stream, samples * steps.cover.rule.cells(), steps.cover);
  }

  void backward(const KernelRun&) override {}
  void check(const Pass& pass) override {
    if (const auto bad = watch_.take()) layer_.throw_bad_list(bad->place, bad->label, pass);
  }

 private:
  const DetectNetTransformationLayer& layer_;
  LabelWatch watch_;
  DeviceBuffer mean_, mapping_;
  size_t steps_ = 0;  // bytes of scratch before what they need
};

std::unique_ptr<Kernel> make_detectnet_transformation_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<DetectNetTransformationGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("DetectNetTransformation", "gpu", 10, make_detectnet_transformation_gpu);

}  // namespace robusta
