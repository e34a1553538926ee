/// Regions of interest (kit/regions.h) on the GPU, and what kernels that pool them share. For files named *_gpu.cpp.
///
/// A region that cannot be is passed over and noted for the host, which throws when the pass is done (labels.h).
#pragma once

#include "device/gpu/copy.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/regions.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The rows of bottom 1, in f32: 16 bits hold neither all items nor all pixels.
struct RegionReader {
  const float* numbers;
  int64_t items;
  ROBUSTA_GPU bool is_good(int64_t region) const {
    for (int64_t k = 0; k < kRegionNumbers; ++k) {
      if (!is_region_number(numbers, region * kRegionNumbers + k, items)) return false;
    }
    return true;
  }
  ROBUSTA_GPU Region operator()(int64_t region) const { return Region::at(numbers, region); }
};

namespace detail {

/// For reduce_all: finds the first number that cannot be.
struct FirstBadRegion {
  using Sum = int64_t;
  LabelReader numbers;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t i) const { return is_region_number(numbers.labels, i, numbers.classes) ? kNoPlace : i; }
  ROBUSTA_GPU void store(Sum first) const { numbers.report(first); }
};

}  // namespace detail

/// What a kernel keeps to read regions, and to throw what was found wrong with them.
class RegionWatch {
 public:
  RegionWatch(const KernelRequest& request, const RegionExtents& extents)
      : items_(extents.items),
        count_(extents.regions * kRegionNumbers),
        watch_(request, extents.items, 1, std::nullopt) {}

  /// Bytes that look() wants of the scratch of forward.
  size_t scratch() const { return reduce_all_scratch<detail::FirstBadRegion>(count_); }
  /// Once in a pass.
  void look(const KernelRun& run) const {
    reduce_all(run.stream, count_, run.scratch, detail::FirstBadRegion{watch_.reader(run.bottoms[1].as<float>())});
  }
  RegionReader reader(const KernelRun& run) const { return {run.bottoms[1].as<float>(), items_}; }

  /// For Kernel::check.
  void check() const {
    if (const auto bad = watch_.take()) throw_bad_region(bad->label, bad->place, items_);
  }

 private:
  int64_t items_, count_;
  LabelWatch watch_;
};

/// A kernel that pools regions: features and top are of type T, regions are f32, watched, and have no gradient.
template <typename T, typename RegionLayer>
class RegionPoolingGpu : public Kernel {
 public:
  explicit RegionPoolingGpu(const KernelRequest& request)
      : layer_(request.layer<RegionLayer>()), watch_(request, layer_.extents()) {
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.top_types = {dtype_of<T>()};
    booking_.forward_scratch = watch_.scratch();
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    watch_.look(run);
    pool(run, watch_.reader(run));
  }
  void backward(const KernelRun& run) override {
    const Tensor& regions = run.bottom_diffs[1];
    if (regions) gpu_fill_zero(run.stream, regions.data, regions.desc.bytes());
    if (run.bottom_diffs[0]) gather(run, watch_.reader(run));
  }
  void check(const Pass&) override { watch_.check(); }

 protected:
  virtual void pool(const KernelRun& run, const RegionReader& regions) const = 0;
  /// The gradient of the features.
  virtual void gather(const KernelRun& run, const RegionReader& regions) const = 0;

  const RegionLayer& layer_;

 private:
  RegionWatch watch_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
