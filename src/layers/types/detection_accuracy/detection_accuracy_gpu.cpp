// DetectionAccuracy on the GPU: one sum over all places. What is wrong with the truth is noted for the host, which
// throws when the pass is done (backends/gpu/labels.h). Everything is f32: 16 bits would move the boxes.

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/booking.h"
#include "layers/types/detection_accuracy/detection_accuracy.h"

namespace robusta {
namespace {

struct DetectionHitsAndFault {
  DetectionHits hits;
  int64_t first_bad;
};

/// For reduce_all over all places.
struct SumOfHits {
  using Sum = DetectionHitsAndFault;
  DetectionComparison comparison;
  LabelReader truth;  ///< all its numbers
  const float* x;
  float *shares, *overlap;
  ROBUSTA_GPU Sum zero() const { return {{}, kNoPlace}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    return {DetectionHits::join(a.hits, b.hits), a.first_bad < b.first_bad ? a.first_bad : b.first_bad};
  }
  ROBUSTA_GPU Sum term(int64_t place) const {
    const int64_t at = comparison.m.fault(truth.labels, place);
    if (at >= 0) return {{}, at};
    return {comparison.hits(x, truth.labels, place), kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    truth.report(sum.first_bad);
    sum.hits.write(shares, overlap);
  }
};

class DetectionAccuracyGpu : public Kernel {
 public:
  explicit DetectionAccuracyGpu(const KernelRequest& request)
      : comparison_(request.layer<DetectionAccuracyLayer>().comparison()),
        truth_(request, comparison_.m.classes, 1, std::nullopt) {
    book_reads_nothing(2, booking_);
    booking_.bottom_types.assign(2, DType::kF32);
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.forward_scratch = reduce_all_scratch<SumOfHits>(comparison_.m.places());
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, comparison_.m.places(), run.scratch,
               SumOfHits{.comparison = comparison_,
                         .truth = truth_.reader(run.bottoms[1].as<float>()),
                         .x = run.bottoms[0].as<float>(),
                         .shares = run.tops[0].as<float>(),
                         .overlap = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr});
  }

  void backward(const KernelRun&) override {}
  void check(const Pass& pass) override {
    if (const auto bad = truth_.take()) throw_bad_truth(comparison_.m, bad->place, bad->label, pass);
  }

 private:
  const DetectionComparison comparison_;
  LabelWatch truth_;
};

std::unique_ptr<Kernel> make_detection_accuracy_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<DetectionAccuracyGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("DetectionAccuracy", "gpu", 10, make_detection_accuracy_gpu);

}  // namespace robusta
