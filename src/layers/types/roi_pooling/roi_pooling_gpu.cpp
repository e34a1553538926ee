// ROIPooling on the GPU: forward a thread for each bin; backward one for each pixel of the features, which asks the
// bins over it whether it was their largest, so that no sum needs an atomic. Features keep their type; regions are f32.

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/regions.h"
#include "layers/types/roi_pooling/roi_pooling.h"

namespace robusta {
namespace {

/// What both directions know.
struct RoiGeometry {
  RegionReader region;
  RoiScale scale;
  int64_t regions, height, width, rows, columns;  ///< rows and columns of bins
  Divisor by_channels, by_height, by_width, by_rows, by_columns;

  RoiGeometry(const RoiPoolingLayer& layer, RegionReader reader)
      : region(reader),
        scale(layer.scale()),
        regions(layer.extents().regions),
        height(layer.extents().height),
        width(layer.extents().width),
        rows(layer.pooled_h()),
        columns(layer.pooled_w()),
        by_channels(layer.extents().channels),
        by_height(height),
        by_width(width),
        by_rows(rows),
        by_columns(columns) {}
};

template <typename T>
struct RoiMax {
  RoiGeometry g;
  int64_t channels;
  const T* x;
  T* y;
  int32_t* largest;  ///< may be null
  ROBUSTA_GPU void operator()(int64_t o) const {
    int64_t r = o;
    const int64_t j = g.by_columns.take_off(r), i = g.by_rows.take_off(r), c = g.by_channels.take_off(r);
    int64_t best = -1;
    float most = 0;
    if (g.region.is_good(r)) {
      const Region region = g.region(r);
      const BinSpan h = within(RoiAxis(region.y1, region.y2, g.scale, g.rows).bin(i), g.height);
      const BinSpan w = within(RoiAxis(region.x1, region.x2, g.scale, g.columns).bin(j), g.width);
      best = largest_pixel(x + (region.item * channels + c) * g.height * g.width, h, w, most);
    }
    y[o] = static_cast<T>(most);
    if (largest) largest[o] = static_cast<int32_t>(best);
  }

 private:
  ROBUSTA_GPU int64_t largest_pixel(const T* image, BinSpan rows, BinSpan columns, float& most) const {
    int64_t best = -1;
    if (rows.length() > 0 && columns.length() > 0) most = -FLT_MAX;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const float value = static_cast<float>(image[h * g.width + w]);
        if (value > most) most = value, best = h * g.width + w;
      }
    }
    return best;
  }
};

template <typename T>
struct RoiGather {
  RoiGeometry g;
  int64_t channels;
  const T* dy;
  const int32_t* largest;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t pixel) const {
    int64_t item = pixel;
    const int64_t w = g.by_width.take_off(item), h = g.by_height.take_off(item), c = g.by_channels.take_off(item);
    const auto own = static_cast<int32_t>(h * g.width + w);
    float sum = 0;
    for (int64_t r = 0; r < g.regions; ++r) {
      if (!g.region.is_good(r)) continue;
      const Region region = g.region(r);
      if (region.item != item) continue;
      const BinSpan rows = RoiAxis(region.y1, region.y2, g.scale, g.rows).bins_of(h);
      const BinSpan columns = RoiAxis(region.x1, region.x2, g.scale, g.columns).bins_of(w);
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          const int64_t o = ((r * channels + c) * g.rows + i) * g.columns + j;
          if (largest[o] == own) sum += static_cast<float>(dy[o]);
        }
      }
    }
    dx[pixel] = static_cast<T>(sum);
  }
};

template <typename T>
class RoiPoolingGpu : public RegionPoolingGpu<T, RoiPoolingLayer> {
 public:
  explicit RoiPoolingGpu(const KernelRequest& request) : RegionPoolingGpu<T, RoiPoolingLayer>(request) {
    book_roi_pooling(request, this->booking_);
  }

 private:
  void pool(const KernelRun& run, const RegionReader& regions) const override {
    const RoiPoolingLayer& layer = this->layer_;
    for_each(run.stream, run.tops[0].count(),
             RoiMax<T>{.g = RoiGeometry(layer, regions),
                       .channels = layer.extents().channels,
                       .x = run.bottoms[0].as<T>(),
                       .y = run.tops[0].as<T>(),
                       .largest = this->booking_.saved_bytes > 0 ? static_cast<int32_t*>(run.saved) : nullptr});
  }

  void gather(const KernelRun& run, const RegionReader& regions) const override {
    const RoiPoolingLayer& layer = this->layer_;
    for_each(run.stream, run.bottom_diffs[0].count(),
             RoiGather<T>{.g = RoiGeometry(layer, regions),
                          .channels = layer.extents().channels,
                          .dy = run.top_diffs[0].as<T>(),
                          .largest = static_cast<const int32_t*>(run.saved),
                          .dx = run.bottom_diffs[0].as<T>()});
  }
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("ROIPooling", RoiPoolingGpu);

}  // namespace robusta
