// BboxAccuracy on the GPU: one sum over all regions. A class without a code is noted for the host, which throws when
// the pass is done (backends/gpu/labels.h). Everything is f32: 16 bits would move the boxes.

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/booking.h"
#include "layers/types/bbox_accuracy/bbox_accuracy.h"

namespace robusta {
namespace {

struct RegionOverlapsAndFault {
  RegionOverlaps overlaps;
  int64_t first_bad;
};

/// For reduce_all over all regions.
struct SumOfOverlaps {
  using Sum = RegionOverlapsAndFault;
  RegionComparison comparison;
  LabelReader matches;  ///< all their numbers
  const float *codes, *regions;
  float *moved, *given;
  ROBUSTA_GPU Sum zero() const { return {{}, kNoPlace}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    return {RegionOverlaps::join(a.overlaps, b.overlaps), a.first_bad < b.first_bad ? a.first_bad : b.first_bad};
  }
  ROBUSTA_GPU Sum term(int64_t region) const {
    if (!comparison.has_code(matches.labels, region)) return {{}, region * comparison.match_width};
    return {comparison.overlaps(codes, regions, matches.labels, region), kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    matches.report(sum.first_bad);
    *moved = sum.overlaps.mean<float>(sum.overlaps.moved);
    if (given) *given = sum.overlaps.mean<float>(sum.overlaps.given);
  }
};

class BboxAccuracyGpu : public Kernel {
 public:
  explicit BboxAccuracyGpu(const KernelRequest& request)
      : comparison_(request.layer<BboxAccuracyLayer>().comparison()),
        matches_(request, comparison_.codes / 4, 1, std::nullopt) {
    book_reads_nothing(3, booking_);
    booking_.bottom_types.assign(3, DType::kF32);
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.forward_scratch = reduce_all_scratch<SumOfOverlaps>(comparison_.regions);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, comparison_.regions, run.scratch,
               SumOfOverlaps{.comparison = comparison_,
                             .matches = matches_.reader(run.bottoms[2].as<float>()),
                             .codes = run.bottoms[0].as<float>(),
                             .regions = run.bottoms[1].as<float>(),
                             .moved = run.tops[0].as<float>(),
                             .given = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr});
  }

  void backward(const KernelRun&) override {}
  void check(const Pass&) override {
    if (const auto bad = matches_.take())
      throw_class_without_code(comparison_, bad->place / comparison_.match_width, bad->label);
  }

 private:
  const RegionComparison comparison_;
  LabelWatch matches_;
};

std::unique_ptr<Kernel> make_bbox_accuracy_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<BboxAccuracyGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("BboxAccuracy", "gpu", 10, make_bbox_accuracy_gpu);

}  // namespace robusta
