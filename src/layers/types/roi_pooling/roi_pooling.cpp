// ROIPooling: fields, shapes, and the reference kernel, which is the CPU's: a thread takes whole planes of a region,
// forward, and whole planes of the features, backward, so that no two write to one place and bits do not depend on
// threads.

#include "layers/types/roi_pooling/roi_pooling.h"

#include "layers/kit/elementwise.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

int64_t require_bins(int64_t bins, const char* name) {
  if (bins > 0) return bins;
  throw Error(ErrorKind::kConfig, str("no ", name, " is given, or 0"), "give the number of bins along this axis")
      .in_field(str("roi_pooling_param.", name));
}

/// pooled_size is Intel's, for one number or two (src/caffe/layers/roi_pooling_layer.cpp of intel/caffe). There it may
/// be three, of regions with a depth.
RoiBins read_bins(const caffe::ROIPoolingParameter& p) {
  const int sizes = p.pooled_size_size();
  if (sizes == 0) return {require_bins(p.pooled_h(), "pooled_h"), require_bins(p.pooled_w(), "pooled_w")};
  if (sizes > 2 || p.pooled_h() > 0 || p.pooled_w() > 0) {
    throw Error(ErrorKind::kConfig,
                sizes > 2 ? str("pooled_size is given ", sizes, " times, and regions have two axes")
                          : "pooled_size is given together with pooled_h or pooled_w",
                "give pooled_h and pooled_w")
        .in_field("roi_pooling_param.pooled_size");
  }
  return {require_bins(p.pooled_size(0), "pooled_size"), require_bins(p.pooled_size(sizes - 1), "pooled_size")};
}

}  // namespace

RoiPoolingLayer::RoiPoolingLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.roi_pooling_param();
  pooled_ = read_bins(p);
  require_spatial_scale(p.spatial_scale(), "roi_pooling_param.spatial_scale");
  if (require_finite(p.pad_ratio(), "roi_pooling_param.pad_ratio") < 0) {
    throw Error(ErrorKind::kConfig, str("pad_ratio is ", p.pad_ratio()), "give 0, or the part that a region grows by")
        .in_field("roi_pooling_param.pad_ratio");
  }
}

std::vector<Shape> RoiPoolingLayer::infer_tops(const std::vector<Shape>& bottoms) {
  extents_ = region_extents(bottoms);
  const Shape top{extents_.regions, extents_.channels, pooled_h(), pooled_w()};
  check_extents(top);
  return {top};
}

namespace {

template <typename T>
class RoiPoolingReference : public Kernel {
 public:
  explicit RoiPoolingReference(const KernelRequest& request)
      : layer_(request.layer<RoiPoolingLayer>()), e_(layer_.extents()) {
    book_roi_pooling(request, booking_);
    booking_.forward_scratch = static_cast<size_t>(e_.regions * spans_of_region()) * sizeof(BinSpan);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* regions = run.bottoms[1].as<T>();
    check_regions(e_, regions);
    auto* spans = static_cast<BinSpan*>(run.scratch);
    parallel_for(e_.regions, 64, [&](int64_t r) { find_spans(Region::at(regions, r), spans + r * spans_of_region()); });
    auto* largest = booking_.saved_bytes > 0 ? static_cast<int32_t*>(run.saved) : nullptr;
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    const int64_t bins = layer_.bins();
    parallel_for(e_.regions * e_.channels, 1 + kElementwiseGrain / (8 * bins), [&](int64_t plane) {
      const int64_t r = plane / e_.channels, c = plane % e_.channels, item = Region::at(regions, r).item;
      pool(x + (item * e_.channels + c) * e_.plane(), spans + r * spans_of_region(), y + plane * bins,
           largest ? largest + plane * bins : nullptr);
    });
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[1]) fill_zero(run.bottom_diffs[1]);
    if (!run.bottom_diffs[0]) return;
    const T *regions = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    const auto* largest = static_cast<const int32_t*>(run.saved);
    T* dx = run.bottom_diffs[0].as<T>();
    const int64_t bins = layer_.bins();
    parallel_for(e_.items * e_.channels, 1, [&](int64_t plane) {
      const int64_t item = plane / e_.channels, c = plane % e_.channels;
      T* image = dx + plane * e_.plane();
      std::fill_n(image, e_.plane(), T{0});
      for (int64_t r = 0; r < e_.regions; ++r) {
        if (Region::at(regions, r).item != item) continue;
        const int64_t first = (r * e_.channels + c) * bins;
        for (int64_t o = first; o < first + bins; ++o) {
          if (largest[o] >= 0) image[largest[o]] += dy[o];
        }
      }
    });
  }

 private:
  int64_t spans_of_region() const { return layer_.pooled_h() + layer_.pooled_w(); }

  /// The rows of each row of bins, then the columns of each column.
  void find_spans(const Region& region, BinSpan* spans) const {
    const RoiAxis rows(region.y1, region.y2, layer_.scale(), layer_.pooled_h());
    const RoiAxis columns(region.x1, region.x2, layer_.scale(), layer_.pooled_w());
    for (int64_t i = 0; i < layer_.pooled_h(); ++i) *spans++ = within(rows.bin(i), e_.height);
    for (int64_t j = 0; j < layer_.pooled_w(); ++j) *spans++ = within(columns.bin(j), e_.width);
  }

  void pool(const T* image, const BinSpan* rows, T* y, int32_t* largest) const {
    const BinSpan* columns = rows + layer_.pooled_h();
    for (int64_t i = 0; i < layer_.pooled_h(); ++i) {
      for (int64_t j = 0; j < layer_.pooled_w(); ++j) {
        const int64_t best = largest_pixel(image, rows[i], columns[j], *y);
        ++y;
        if (largest) *largest++ = static_cast<int32_t>(best);
      }
    }
  }

  /// The first of the largest pixels, whose value goes into `value`; -1 when none is above -FLT_MAX.
  int64_t largest_pixel(const T* image, BinSpan rows, BinSpan columns, T& value) const {
    const bool empty = rows.length() == 0 || columns.length() == 0;
    int64_t best = -1;
    T most = empty ? T{0} : T{-FLT_MAX};
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const T* row = image + h * e_.width;
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        if (row[w] > most) most = row[w], best = h * e_.width + w;
      }
    }
    value = most;
    return best;
  }

  const RoiPoolingLayer& layer_;
  const RegionExtents e_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ROIPooling", RoiPoolingLayer);
ROBUSTA_REGISTER_REFERENCE("ROIPooling", RoiPoolingReference);

}  // namespace robusta
