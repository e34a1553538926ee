// The reference kernel goes plane by plane of the features, backward, so that no two threads write to one place and
// bits do not depend on threads.

#include "layers/kit/region_samples.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/elementwise.h"

namespace robusta {

void RegionSamplingLayer::require_bins(int64_t rows, int64_t columns, const std::string& message) {
  for (const auto& [count, name] : {std::pair{rows, "pooled_h"}, std::pair{columns, "pooled_w"}}) {
    if (count > 0) continue;
    throw Error(ErrorKind::kConfig, str("no ", name, " is given, or 0"), "give the number of bins along this axis")
        .in_field(str(message, ".", name));
  }
}

std::vector<Shape> RegionSamplingLayer::infer_tops(const std::vector<Shape>& bottoms) {
  extents_ = region_extents(bottoms);
  const Shape top{extents_.regions, extents_.channels, grid_.rows, grid_.columns};
  check_extents(top);
  return {top};
}

void book_region_sampling(const KernelRequest& request, Booking& booking) {
  const bool corners = request.layer<RegionSamplingLayer>().has_corner_gradient();
  booking.reads_bottoms = {corners, true};
  booking.repeatable = true;
}

namespace {

template <typename T>
class RegionSamplingReference : public Kernel {
 public:
  explicit RegionSamplingReference(const KernelRequest& request)
      : layer_(request.layer<RegionSamplingLayer>()), grid_(layer_.grid()), e_(layer_.extents()) {
    book_region_sampling(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *regions = run.bottoms[1].as<T>();
    check_regions(e_, regions);
    T* y = run.tops[0].as<T>();
    parallel_for(e_.regions * e_.channels, 1 + kElementwiseGrain / (8 * places()), [&](int64_t plane) {
      const Region region = Region::at(regions, plane / e_.channels);
      const T* image = image_of(x, region, plane % e_.channels);
      for_places(region, [&](int64_t i, int64_t j, const PlaceSample& h, const PlaceSample& w) {
        y[(plane * grid_.rows + i) * grid_.columns + j] = value_at<T>(image, e_.width, h, w);
      });
    });
  }

  void backward(const KernelRun& run) override {
    check_regions(e_, run.bottoms[1].as<T>());  // once more, as a program may have written others since forward
    if (run.bottom_diffs[0]) features_gradient(run);
    if (!run.bottom_diffs[1]) return;
    if (layer_.has_corner_gradient())
      corners_gradient(run);
    else
      fill_zero(run.bottom_diffs[1]);
  }

 private:
  int64_t places() const { return grid_.rows * grid_.columns; }
  const T* image_of(const T* x, const Region& region, int64_t channel) const {
    return x + (region.item * e_.channels + channel) * e_.plane();
  }

  /// body(i, j, sample of the row, sample of the column) for each place of the region.
  template <typename Body>
  void for_places(const Region& region, const Body& body) const {
    const PlaceAxis rows(grid_, region.y1, region.y2, grid_.row_steps, e_.height);
    const PlaceAxis columns(grid_, region.x1, region.x2, grid_.column_steps, e_.width);
    for (int64_t i = 0; i < grid_.rows; ++i) {
      const PlaceSample h = rows.sample(i);
      for (int64_t j = 0; j < grid_.columns; ++j) body(i, j, h, columns.sample(j));
    }
  }

  void features_gradient(const KernelRun& run) const {
    const T *regions = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(e_.items * e_.channels, 1, [&](int64_t plane) {
      const int64_t item = plane / e_.channels, c = plane % e_.channels;
      T* image = dx + plane * e_.plane();
      std::fill_n(image, e_.plane(), T{0});
      for (int64_t r = 0; r < e_.regions; ++r) {
        const Region region = Region::at(regions, r);
        if (region.item != item) continue;
        const T* slopes = dy + (r * e_.channels + c) * places();
        for_places(region, [&](int64_t i, int64_t j, const PlaceSample& h, const PlaceSample& w) {
          spread(slopes[i * grid_.columns + j], h, w, image);
        });
      }
    });
  }

  void spread(T slope, const PlaceSample& h, const PlaceSample& w, T* image) const {
    if (!h.inside || !w.inside) return;
    const T right = static_cast<T>(w.share), down = static_cast<T>(h.share);
    image[h.lower * e_.width + w.lower] += slope * (1 - down) * (1 - right);
    image[h.lower * e_.width + w.upper] += slope * (1 - down) * right;
    image[h.upper * e_.width + w.lower] += slope * down * (1 - right);
    image[h.upper * e_.width + w.upper] += slope * down * right;
  }

  void corners_gradient(const KernelRun& run) const {
    const T *x = run.bottoms[0].as<T>(), *regions = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* out = run.bottom_diffs[1].as<T>();
    parallel_for(e_.regions, 1, [&](int64_t r) {
      const Region region = Region::at(regions, r);
      double sums[kRegionNumbers] = {};
      for (int64_t c = 0; c < e_.channels; ++c) {
        const T* image = image_of(x, region, c);
        const T* slopes = dy + (r * e_.channels + c) * places();
        for_places(region, [&](int64_t i, int64_t j, const PlaceSample& h, const PlaceSample& w) {
          const double slope = slopes[i * grid_.columns + j];
          for (int64_t k = 1; k < kRegionNumbers; ++k)
            sums[k] += slope * corner_slope<T>(grid_, image, e_.width, k, i, j, h, w);
        });
      }
      for (int64_t k = 0; k < kRegionNumbers; ++k) out[r * kRegionNumbers + k] = static_cast<T>(sums[k]);
    });
  }

  const RegionSamplingLayer& layer_;
  RegionGrid grid_;
  RegionExtents e_;
};

std::unique_ptr<Kernel> make_region_sampling_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<RegionSamplingReference<decltype(t)>>(request);
  });
}

}  // namespace

bool register_region_sampling_kernel(const std::string& type) {
  return register_kernel({type, "reference", "cpu", 0, make_region_sampling_reference});
}

}  // namespace robusta
