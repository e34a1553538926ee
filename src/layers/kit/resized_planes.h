/// The fields that ResizeBilinearParameter and ResizeNearestNeighborParameter have in common, and what they say of an
/// image (as in foss-for-synopsys-dwc-arc-processors/synopsys-caffe, after TensorFlow's operators of these names).
///
/// A size is given, or a factor that the size of the bottom is multiplied by. The order of axes is TensorFlow's unless
/// data_format says NCHW.
#pragma once

#include <cmath>
#include <functional>

#include "layers/kit/bottom_checks.h"
#include "layers/kit/sampling.h"

namespace robusta {

/// Of an axis with so many pixels in the bottom, and in the top.
using AxisOfExtents = std::function<SampledAxis(int64_t in, int64_t out)>;

/// `Param`: the message of either type; `message`: its name in a layer. Throws Error{kConfig}.
template <typename Param>
class ResizedPlanes {
 public:
  ResizedPlanes(const Param& param, std::string message) : param_(param), message_(std::move(message)) {
    const std::string& format = param_.data_format();
    if (format != "NHWC" && format != "NCHW") {
      throw bad_field("data_format", str("data_format is \"", format, "\""), "write NCHW or NHWC");
    }
    if (param_.align_corners() && param_.half_pixel_centers()) {
      throw bad_field("half_pixel_centers", "align_corners and half_pixel_centers say different things",
                      "give one of them");
    }
  }

  Error bad_field(const std::string& field, const std::string& cause, const std::string& fix) const {
    return Error(ErrorKind::kConfig, cause, fix).in_field(str(message_, ".", field));
  }

  SampledBy sampled_by() const {
    return param_.align_corners()        ? SampledBy::kCorners
           : param_.half_pixel_centers() ? SampledBy::kMiddles
                                         : SampledBy::kEdges;
  }

  /// The place of the height among the axes; the width follows.
  int height_axis() const { return param_.data_format() == "NHWC" ? 1 : 2; }

  /// The extents of the top.
  Shape top(const Shape& bottom) const {
    if (bottom.axes() != 4) {
      throw Error(ErrorKind::kConfig, str("takes an input of four axes, not ", bottom.str()));
    }
    Shape top = bottom;
    const int h = height_axis();
    top[h] =
        extent("output_height", param_.has_output_height(), param_.output_height(), bottom[h], param_.scale_height());
    top[h + 1] =
        extent("output_width", param_.has_output_width(), param_.output_width(), bottom[h + 1], param_.scale_width());
    check_extents(top);
    return top;
  }

  Sampling sampling(const Shape& bottom, const Shape& top, const AxisOfExtents& axis) const {
    const int h = height_axis();
    return {.outer = bottom.count(0, h),
            .inner = bottom.count(h + 2),
            .h = axis(bottom[h], top[h]),
            .w = axis(bottom[h + 1], top[h + 1]),
            .of_planes = h == 2};
  }

 private:
  int64_t extent(const char* field, bool given, int64_t size, int64_t in, float factor) const {
    const std::string path = str(message_, ".", field);
    check_sampled_extent(in, field, "bottom");
    // What is no number, or too large for one, is refused as an extent.
    const double scaled = std::floor(static_cast<double>(in) * factor);
    const int64_t out = given ? size : scaled > 0 && scaled < 0x1p40 ? static_cast<int64_t>(scaled) : 0;
    check_sampled_extent(out, field, path);
    return out;
  }

  const Param& param_;
  std::string message_;
};

}  // namespace robusta
