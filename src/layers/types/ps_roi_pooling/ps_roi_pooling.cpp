// PSROIPooling: fields, shapes, and the reference kernel, which is the CPU's: a thread takes whole regions' channels,
// forward, and whole planes of the features, backward, so that no two write to one place.

#include "layers/types/ps_roi_pooling/ps_roi_pooling.h"

#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

void require_positive(bool given, int64_t value, const char* name, const char* fix) {
  if (value > 0) return;
  throw Error(ErrorKind::kConfig, given ? str(name, " is ", value) : str("no ", name, " is given"), fix)
      .in_field(str("psroi_pooling_param.", name));
}

}  // namespace

PsRoiPoolingLayer::PsRoiPoolingLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.psroi_pooling_param();
  require_positive(p.has_output_dim(), p.output_dim(), "output_dim", "give the number of channels that come out");
  require_positive(p.has_group_size(), p.group_size(), "group_size", "give the number of bins along each axis");
  if (!p.has_spatial_scale()) {
    throw Error(ErrorKind::kConfig, "no spatial_scale is given",
                "give the size of the features divided by that of the image, such as 0.0625")
        .in_field("psroi_pooling_param.spatial_scale");
  }
  require_spatial_scale(p.spatial_scale(), "psroi_pooling_param.spatial_scale");
}

std::vector<Shape> PsRoiPoolingLayer::infer_tops(const std::vector<Shape>& bottoms) {
  extents_ = region_extents(bottoms);
  const int64_t wanted = product_or_most(product_or_most(group(), group()), outputs());
  if (extents_.channels != wanted) {
    throw Error(ErrorKind::kConfig,
                str("bottom 0 has ", extents_.channels, " channels, but output_dim ", outputs(), " and group_size ",
                    group(), " ask for ", wanted),
                "output_dim x group_size x group_size channels are wanted")
        .in_field("bottom");
  }
  const Shape top{extents_.regions, outputs(), group(), group()};
  check_extents(top);
  return {top};
}

namespace {

template <typename T>
class PsRoiPoolingReference : public Kernel {
 public:
  explicit PsRoiPoolingReference(const KernelRequest& request)
      : layer_(request.layer<PsRoiPoolingLayer>()), e_(layer_.extents()), group_(layer_.group()) {
    book_ps_roi_pooling(booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *regions = run.bottoms[1].as<T>(), *x = run.bottoms[0].as<T>();
    check_regions(e_, regions);
    T* y = run.tops[0].as<T>();
    // A task is a bin of a region, in all channels: where it lies is found once.
    parallel_for(e_.regions * group_ * group_, 1, [&](int64_t task) {
      const int64_t r = task / (group_ * group_), place = task % (group_ * group_);
      const Region region = Region::at(regions, r);
      const PsRoiBin bin = bin_of(region, place);
      for (int64_t c = 0; c < layer_.outputs(); ++c) {
        const T* image = x + (region.item * e_.channels + c * group_ * group_ + place) * e_.plane();
        y[(r * layer_.outputs() + c) * group_ * group_ + place] = mean(image, bin);
      }
    });
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[1]) fill_zero(run.bottom_diffs[1]);
    if (!run.bottom_diffs[0]) return;
    const T *regions = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(e_.items * e_.channels, 1, [&](int64_t plane) {
      const int64_t item = plane / e_.channels, channel = plane % e_.channels;
      const int64_t place = channel % (group_ * group_);
      T* image = dx + plane * e_.plane();
      std::fill_n(image, e_.plane(), T{0});
      for (int64_t r = 0; r < e_.regions; ++r) {
        const Region region = Region::at(regions, r);
        if (region.item == item) spread(dy[r * e_.channels + channel], bin_of(region, place), image);
      }
    });
  }

 private:
  PsRoiBin bin_of(const Region& region, int64_t place) const {
    return {region, layer_.scale(), group_, place / group_, place % group_, e_.height, e_.width};
  }

  T mean(const T* image, const PsRoiBin& bin) const {
    if (bin.area() == 0) return 0;
    double sum = 0;
    for (int64_t h = bin.rows.begin; h < bin.rows.end; ++h) {
      for (int64_t w = bin.columns.begin; w < bin.columns.end; ++w) sum += image[h * e_.width + w];
    }
    return static_cast<T>(sum / static_cast<double>(bin.area()));
  }

  /// The transpose of mean: adds to each pixel of the bin its share of `gradient`.
  void spread(T gradient, const PsRoiBin& bin, T* image) const {
    if (bin.area() == 0) return;
    const T share = gradient / static_cast<T>(bin.area());
    for (int64_t h = bin.rows.begin; h < bin.rows.end; ++h) {
      for (int64_t w = bin.columns.begin; w < bin.columns.end; ++w) image[h * e_.width + w] += share;
    }
  }

  const PsRoiPoolingLayer& layer_;
  const RegionExtents e_;
  const int64_t group_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("PSROIPooling", PsRoiPoolingLayer);
ROBUSTA_REGISTER_REFERENCE("PSROIPooling", PsRoiPoolingReference);

}  // namespace robusta
