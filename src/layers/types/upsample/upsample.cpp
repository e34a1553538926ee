// Upsample: fields, shapes, and the reference kernels.

#include "layers/types/upsample/upsample.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

Error bad_field(const std::string& field, const std::string& cause, const std::string& fix) {
  return Error(ErrorKind::kConfig, cause, fix).in_field("upsample_param." + field);
}

void check_mask_fields(const caffe::UpsampleParameter& p) {
  if (p.has_upsample_h() != p.has_upsample_w() || p.has_scale_h() != p.has_scale_w()) {
    throw bad_field(p.has_upsample_h() != p.has_upsample_w() ? "upsample_h" : "scale_h",
                    "a height is given without a width, or a width without a height", "give both or none");
  }
  if (p.has_upsample_h()) return;
  if (p.has_scale() && p.has_scale_h()) {
    throw bad_field("scale_h", "scale stands beside scale_h and scale_w", "give scale, or both of the others");
  }
  const int64_t h = p.has_scale_h() ? p.scale_h() : p.scale(), w = p.has_scale_w() ? p.scale_w() : p.scale();
  if (h < 2 || w < 2) throw bad_field(p.has_scale_h() ? "scale_h" : "scale", "a scale is below 2", "give at least 2");
  if ((p.pad_out_h() && h != 2) || (p.pad_out_w() && w != 2)) {
    throw bad_field(p.pad_out_h() ? "pad_out_h" : "pad_out_w",
                    "it says how an odd extent was halved, but the scale is not 2", "give upsample_h and upsample_w");
  }
}

void check_scale_fields(const caffe::UpsampleParameter& p) {
  if (p.has_scale() && p.scale() == 0) throw bad_field("scale", "scale is 0", "give at least 1");
  for (const auto& [given, field] : {std::pair{p.has_scale_h(), "scale_h"},
                                     {p.has_scale_w(), "scale_w"},
                                     {p.has_upsample_h(), "upsample_h"},
                                     {p.has_upsample_w(), "upsample_w"},
                                     {p.has_pad_out_h(), "pad_out_h"},
                                     {p.has_pad_out_w(), "pad_out_w"}}) {
    if (given) throw bad_field(field, str(field, " belongs to an Upsample with a mask"), "give scale, or a mask");
  }
}

}  // namespace

UpsampleLayer::UpsampleLayer(const caffe::LayerParameter& param) : SamplingLayer(param) {
  has_mask() ? check_mask_fields(param.upsample_param()) : check_scale_fields(param.upsample_param());
}

int64_t UpsampleLayer::extent(const Shape& bottom, int axis) const {
  const auto& p = param().upsample_param();
  const bool h = axis == 2;
  if (p.has_upsample_h()) return h ? p.upsample_h() : p.upsample_w();
  const int64_t one = p.has_scale() || has_mask() ? p.scale() : 1;
  const int64_t scale = h && p.has_scale_h() ? p.scale_h() : !h && p.has_scale_w() ? p.scale_w() : one;
  const int64_t scaled = product_or_most(bottom[axis], scale);
  return (h ? p.pad_out_h() : p.pad_out_w()) ? scaled - 1 : scaled;
}

std::vector<Shape> UpsampleLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  require_same_shapes(bottoms);
  const Shape& bottom = bottoms[0];
  if (bottom.axes() != 4) {
    throw Error(ErrorKind::kConfig, str("takes an input of batch, channels, height and width, not ", bottom.str()));
  }
  const int64_t h = extent(bottom, 2), w = extent(bottom, 3);
  check_sampled_extent(h, "height", "upsample_param");
  check_sampled_extent(w, "width", "upsample_param");
  return {sample_planes(bottom, nearest_axis(SampledBy::kEdges, bottom[2], h),
                        nearest_axis(SampledBy::kEdges, bottom[3], w))};
}

RowPicks UpsampleLayer::picks() const {
  return {.count = planes() * pixels_in(),
          .rows = pixels_out(),
          .width = 1,
          .fix =
              "bottom 1 is the second top of a MAX pooling whose input has the size of this layer's top: check "
              "upsample_h and upsample_w"};
}

void book_upsample(const UpsampleLayer& layer, Booking& booking) {
  book_reads_nothing(2, booking);
  booking.repeatable = true;
  booking.saved_bytes = static_cast<size_t>(layer.planes() * layer.pixels_out()) * sizeof(int64_t);
}

namespace {

template <typename T>
class UpsampleByMask : public Kernel {
 public:
  explicit UpsampleByMask(const KernelRequest& request) : layer_(request.layer<UpsampleLayer>()) {
    book_upsample(layer_, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *mask = run.bottoms[1].as<T>();
    T* y = run.tops[0].as<T>();
    auto* owners = static_cast<int64_t*>(run.saved);
    check_picks(layer_.picks(), mask);
    for_planes([=, this](int64_t in, int64_t out) {
      std::fill_n(owners + out, layer_.pixels_out(), 0);
      for (int64_t i = 0; i < layer_.pixels_in(); ++i) owners[out + to_label(mask[in + i])] = i + 1;
      for (int64_t p = out; p < out + layer_.pixels_out(); ++p) y[p] = owners[p] ? x[in + owners[p] - 1] : T{0};
    });
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[1]) fill_zero(run.bottom_diffs[1]);
    if (!run.bottom_diffs[0]) return;
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    const auto* owners = static_cast<const int64_t*>(run.saved);
    for_planes([=, this](int64_t in, int64_t out) {
      std::fill_n(dx + in, layer_.pixels_in(), T{0});
      for (int64_t p = out; p < out + layer_.pixels_out(); ++p) {
        if (owners[p]) dx[in + owners[p] - 1] = dy[p];
      }
    });
  }

 private:
  /// body(where the plane begins in the bottom, in the top)
  template <typename Body>
  void for_planes(const Body& body) const {
    parallel_for(layer_.planes(), 1 + (1 << 14) / layer_.pixels_out(),
                 [&](int64_t plane) { body(plane * layer_.pixels_in(), plane * layer_.pixels_out()); });
  }

  const UpsampleLayer& layer_;
};

std::unique_ptr<Kernel> make_upsample_reference(const KernelRequest& request, std::string& why_not) {
  if (!request.layer<UpsampleLayer>().has_mask()) return make_sampling_reference(request, why_not);
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<UpsampleByMask<decltype(t)>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Upsample", UpsampleLayer);
ROBUSTA_REGISTER_KERNEL("Upsample", "reference", 0, make_upsample_reference);

}  // namespace robusta
