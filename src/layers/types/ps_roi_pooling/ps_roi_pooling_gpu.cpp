// PSROIPooling on the GPU: forward a thread for each bin; backward one for each pixel of the features, which gathers
// from the regions over it: a channel belongs to one bin of each. Features keep their type; regions are f32.

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/regions.h"
#include "layers/types/ps_roi_pooling/ps_roi_pooling.h"

namespace robusta {
namespace {

/// What both directions know. A channel of the features is (output, row of bins, column of bins), as an element of the
/// top is behind its region.
struct PsRoiGeometry {
  RegionReader region;
  float scale;
  int64_t regions, channels, height, width, group;
  Divisor by_channels, by_height, by_width, by_group;

  PsRoiGeometry(const PsRoiPoolingLayer& layer, RegionReader reader)
      : region(reader),
        scale(layer.scale()),
        regions(layer.extents().regions),
        channels(layer.extents().channels),
        height(layer.extents().height),
        width(layer.extents().width),
        group(layer.group()),
        by_channels(channels),
        by_height(height),
        by_width(width),
        by_group(group) {}

  ROBUSTA_GPU PsRoiBin bin(const Region& of, int64_t channel) const {
    int64_t rest = channel;
    const int64_t j = by_group.take_off(rest), i = by_group.take_off(rest);
    return {of, scale, group, i, j, height, width};
  }
};

template <typename T>
struct PsRoiMean {
  PsRoiGeometry g;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t o) const {
    int64_t r = o;
    const int64_t channel = g.by_channels.take_off(r);
    float mean = 0;
    if (g.region.is_good(r)) {
      const Region region = g.region(r);
      mean = mean_of(x + (region.item * g.channels + channel) * g.height * g.width, g.bin(region, channel));
    }
    y[o] = static_cast<T>(mean);
  }

 private:
  ROBUSTA_GPU float mean_of(const T* image, const PsRoiBin& bin) const {
    if (bin.area() == 0) return 0;
    float sum = 0;
    for (int64_t h = bin.rows.begin; h < bin.rows.end; ++h) {
      for (int64_t w = bin.columns.begin; w < bin.columns.end; ++w) sum += static_cast<float>(image[h * g.width + w]);
    }
    return sum / static_cast<float>(bin.area());
  }
};

template <typename T>
struct PsRoiGather {
  PsRoiGeometry g;
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t pixel) const {
    int64_t item = pixel;
    const int64_t w = g.by_width.take_off(item), h = g.by_height.take_off(item), c = g.by_channels.take_off(item);
    float sum = 0;
    for (int64_t r = 0; r < g.regions; ++r) {
      if (!g.region.is_good(r)) continue;
      const Region region = g.region(r);
      if (region.item != item) continue;
      const PsRoiBin bin = g.bin(region, c);
      if (!bin.rows.holds(h) || !bin.columns.holds(w)) continue;
      sum += static_cast<float>(dy[r * g.channels + c]) / static_cast<float>(bin.area());
    }
    dx[pixel] = static_cast<T>(sum);
  }
};

template <typename T>
class PsRoiPoolingGpu : public RegionPoolingGpu<T, PsRoiPoolingLayer> {
 public:
  explicit PsRoiPoolingGpu(const KernelRequest& request) : RegionPoolingGpu<T, PsRoiPoolingLayer>(request) {
    book_ps_roi_pooling(this->booking_);
  }

 private:
  void pool(const KernelRun& run, const RegionReader& regions) const override {
    for_each(run.stream, run.tops[0].count(),
             PsRoiMean<T>{PsRoiGeometry(this->layer_, regions), run.bottoms[0].as<T>(), run.tops[0].as<T>()});
  }

  void gather(const KernelRun& run, const RegionReader& regions) const override {
    for_each(
        run.stream, run.bottom_diffs[0].count(),
        PsRoiGather<T>{PsRoiGeometry(this->layer_, regions), run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>()});
  }
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("PSROIPooling", PsRoiPoolingGpu);

}  // namespace robusta
