/// Features of regions, sampled at a grid of places (kit/region_samples.h), on the GPU. For files named *_gpu.cpp.
///
/// Forward a thread for each place; backward one for each pixel of the features, which asks the places near it, so that
/// no sum needs an atomic. Features keep their type; regions, and their gradient, are f32.
#pragma once

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/regions.h"
#include "layers/kit/region_samples.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// What all bodies know.
struct RegionPlaces {
  RegionReader region;
  RegionGrid grid;
  RegionExtents e;
  Divisor by_channels, by_rows, by_columns;

  RegionPlaces(const RegionSamplingLayer& layer, RegionReader reader)
      : region(reader),
        grid(layer.grid()),
        e(layer.extents()),
        by_channels(e.channels),
        by_rows(grid.rows),
        by_columns(grid.columns) {}

  ROBUSTA_GPU PlaceAxis rows_of(const Region& of) const {
    return PlaceAxis(grid, of.y1, of.y2, grid.row_steps, e.height);
  }
  ROBUSTA_GPU PlaceAxis columns_of(const Region& of) const {
    return PlaceAxis(grid, of.x1, of.x2, grid.column_steps, e.width);
  }
};

template <typename T>
struct RegionSampleEach {
  RegionPlaces p;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t o) const {
    int64_t r = o;
    const int64_t j = p.by_columns.take_off(r), i = p.by_rows.take_off(r), c = p.by_channels.take_off(r);
    float value = 0;
    if (p.region.is_good(r)) {
      const Region region = p.region(r);
      const T* image = x + (region.item * p.e.channels + c) * p.e.plane();
      value = value_at<float>(image, p.e.width, p.rows_of(region).sample(i), p.columns_of(region).sample(j));
    }
    y[o] = static_cast<T>(value);
  }
};

template <typename T>
struct RegionSampleGather {
  RegionPlaces p;
  Divisor by_height, by_width;
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t pixel) const {
    int64_t item = pixel;
    const int64_t w = by_width.take_off(item), h = by_height.take_off(item), c = p.by_channels.take_off(item);
    float sum = 0;
    for (int64_t r = 0; r < p.e.regions; ++r) {
      if (!p.region.is_good(r)) continue;
      const Region region = p.region(r);
      if (region.item == item)
        sum += of_region(region, dy + (r * p.e.channels + c) * p.grid.rows * p.grid.columns, h, w);
    }
    dx[pixel] = static_cast<T>(sum);
  }

 private:
  ROBUSTA_GPU float of_region(const Region& region, const T* slopes, int64_t h, int64_t w) const {
    const PlaceAxis rows = p.rows_of(region), columns = p.columns_of(region);
    const BinSpan near_rows = rows.places_of(h, p.grid.rows), near_columns = columns.places_of(w, p.grid.columns);
    float sum = 0;
    for (int64_t i = near_rows.begin; i < near_rows.end; ++i) {
      const float row_part = rows.sample(i).part(h);
      for (int64_t j = near_columns.begin; row_part != 0 && j < near_columns.end; ++j) {
        const float part = row_part * columns.sample(j).part(w);
        if (part != 0) sum += part * static_cast<float>(slopes[i * p.grid.columns + j]);
      }
    }
    return sum;
  }
};

/// For reduce_rows: a row is a number of a region, a column a place of a channel.
template <typename T>
struct RegionCornerSums {
  using Sum = float;
  RegionPlaces p;
  const T *x, *dy;
  float* slopes;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t number, int64_t place) const {
    const int64_t r = number / kRegionNumbers, k = number % kRegionNumbers;
    if (k == 0 || !p.region.is_good(r)) return 0;
    int64_t c = place;
    const int64_t j = p.by_columns.take_off(c), i = p.by_rows.take_off(c);
    const Region region = p.region(r);
    const T* image = x + (region.item * p.e.channels + c) * p.e.plane();
    const float slope = corner_slope<float>(p.grid, image, p.e.width, k, i, j, p.rows_of(region).sample(i),
                                            p.columns_of(region).sample(j));
    return slope * static_cast<float>(dy[r * p.e.channels * p.grid.rows * p.grid.columns + place]);
  }
  ROBUSTA_GPU void store(int64_t number, Sum sum) const { slopes[number] = sum; }
};

template <typename T>
class RegionSamplingGpu : public Kernel {
 public:
  explicit RegionSamplingGpu(const KernelRequest& request)
      : layer_(request.layer<RegionSamplingLayer>()), watch_(request, layer_.extents()) {
    book_region_sampling(request, booking_);
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.top_types = {dtype_of<T>()};
    booking_.forward_scratch = watch_.scratch();
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    watch_.look(run);
    for_each(run.stream, run.tops[0].count(),
             RegionSampleEach<T>{places(run), run.bottoms[0].as<T>(), run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    const RegionPlaces p = places(run);
    if (run.bottom_diffs[0]) {
      for_each(run.stream, run.bottom_diffs[0].count(),
               RegionSampleGather<T>{.p = p,
                                     .by_height = Divisor(p.e.height),
                                     .by_width = Divisor(p.e.width),
                                     .dy = run.top_diffs[0].as<T>(),
                                     .dx = run.bottom_diffs[0].as<T>()});
    }
    const Tensor& corners = run.bottom_diffs[1];
    if (!corners) return;
    if (!layer_.has_corner_gradient()) return gpu_fill_zero(run.stream, corners.data, corners.desc.bytes());
    reduce_rows(
        run.stream, p.e.regions * kRegionNumbers, p.e.channels * p.grid.rows * p.grid.columns,
        RegionCornerSums<T>{
            .p = p, .x = run.bottoms[0].as<T>(), .dy = run.top_diffs[0].as<T>(), .slopes = corners.as<float>()});
  }
  void check(const Pass&) override { watch_.check(); }

 private:
  RegionPlaces places(const KernelRun& run) const { return {layer_, watch_.reader(run)}; }

  const RegionSamplingLayer& layer_;
  RegionWatch watch_;
};

inline std::unique_ptr<Kernel> make_gpu_region_sampling(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<RegionSamplingGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// Registers it for a RegionSamplingLayer's type: `ROBUSTA_REGISTER_GPU_REGION_SAMPLING(ROIAlign);`
#define ROBUSTA_REGISTER_GPU_REGION_SAMPLING(type)                           \
  [[maybe_unused]] static const bool registered_gpu_region_sampling_##type = \
      ::robusta::register_kernel({#type, "gpu", ::robusta::kGpuKind, 10, ::robusta::make_gpu_region_sampling})
