// Pooling: shapes.

#include "layers/types/pooling/pooling.h"

#include <algorithm>

#include "layers/kit/bottom_checks.h"
#include "layers/types/convolution/convolution.h"

namespace robusta {
namespace {

Error bad_field(const std::string& field, const std::string& cause, const std::string& fix) {
  return Error(ErrorKind::kConfig, cause, fix).in_field("pooling_param." + field);
}

using Values = google::protobuf::RepeatedField<uint32_t>;

std::vector<int64_t> three(const std::string& field, const Values& values, size_t axes) {
  if (axes != 3 || values.size() != 3) {
    throw bad_field(field, str(field, " is given ", values.size(), " times for ", axes, " spatial axes"),
                    "give it three times for an input of five axes, and not at all for others");
  }
  return {values.begin(), values.end()};
}

/// A field that is given once for all axes, as *_h and *_w, or (Intel) three times as *_3d.
std::vector<int64_t> read(const std::string& field, size_t axes, bool has_one, int64_t one, bool has_h, int64_t h,
                          bool has_w, int64_t w, const Values& list) {
  if (!list.empty()) return three(field + "_3d", list, axes);
  if (!has_h && !has_w) return std::vector<int64_t>(axes, one);
  const std::string stem = field == "kernel_size" ? "kernel" : field;
  if (has_one) {
    throw bad_field(field, str(field, " is given together with ", stem, has_h ? "_h" : "_w"),
                    "use one of the two forms");
  }
  if (has_h != has_w) {
    throw bad_field(stem + (has_h ? "_h" : "_w"), str("only one of ", stem, "_h and ", stem, "_w is given"),
                    "give both");
  }
  if (axes != 2) {
    throw bad_field(stem + (has_h ? "_h" : "_w"),
                    str(stem, "_h and ", stem, "_w are for two spatial axes, and there are ", axes),
                    str("give ", field));
  }
  return {h, w};
}

void check_window(const WindowAxis& axis) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (axis.kernel < 1) throw bad_field("kernel_size", "kernel_size is 0", "give a size of at least 1");
  if (axis.stride < 1) throw bad_field("stride", "stride is 0", "give a stride of at least 1");
  if (std::max({axis.kernel, axis.stride, axis.pad}) > kMost) {
    throw bad_field("kernel_size", "kernel_size, stride or pad is out of all proportion", "");
  }
  if (axis.pad >= axis.kernel) {
    throw bad_field("pad", str("pad ", axis.pad, " is not smaller than kernel_size ", axis.kernel),
                    "a window would lie in the padding altogether; use less padding");
  }
}

std::vector<WindowAxis> read_windows(const caffe::PoolingParameter& p, const Shape& bottom) {
  const size_t count = static_cast<size_t>(bottom.axes() - 2);
  const bool names_kernel = p.has_kernel_size() || p.has_kernel_h() || p.has_kernel_w() || p.kernel_size_3d_size() > 0;
  if (p.global_pooling() == names_kernel) {
    throw bad_field("kernel_size",
                    names_kernel ? "a kernel size is given together with global_pooling" : "no kernel_size is given",
                    "give either a kernel size or global_pooling: true");
  }
  const auto kernel = read("kernel_size", count, p.has_kernel_size(), p.kernel_size(), p.has_kernel_h(), p.kernel_h(),
                           p.has_kernel_w(), p.kernel_w(), p.kernel_size_3d());
  const auto stride = read("stride", count, p.has_stride(), p.stride(), p.has_stride_h(), p.stride_h(),
                           p.has_stride_w(), p.stride_w(), p.stride_3d());
  const auto pad =
      read("pad", count, p.has_pad(), p.pad(), p.has_pad_h(), p.pad_h(), p.has_pad_w(), p.pad_w(), p.pad_3d());

  std::vector<WindowAxis> axes(count);
  for (size_t a = 0; a < count; ++a) {
    axes[a].in = bottom[static_cast<int>(a) + 2];
    axes[a].kernel = p.global_pooling() ? axes[a].in : kernel[a];
    axes[a].stride = stride[a];
    axes[a].pad = pad[a];
    if (p.global_pooling() && (axes[a].pad != 0 || axes[a].stride != 1)) {
      throw bad_field(axes[a].pad != 0 ? "pad" : "stride", "global_pooling goes with pad 0 and stride 1 only",
                      "remove pad and stride");
    }
    check_window(axes[a]);
  }
  return axes;
}

int64_t outputs(const WindowAxis& axis, bool round_up) {
  const int64_t room = axis.in + 2 * axis.pad - axis.kernel;
  if (room < 0) return round_up && -room < axis.stride ? 1 : 0;  // what rounding towards zero gives
  return (room + (round_up ? axis.stride - 1 : 0)) / axis.stride + 1;
}

}  // namespace

PoolingLayer::PoolingLayer(const caffe::LayerParameter& param) : Layer(param) {
  if (param.pooling_param().pool() == caffe::PoolingParameter::STOCHASTIC) {
    throw Error(ErrorKind::kUnsupported, "STOCHASTIC pooling is not supported", "use MAX or AVE")
        .in_field("pooling_param.pool");
  }
}

Arity PoolingLayer::arity() const { return {1, 1, 1, is_max() ? 2 : 1}; }

std::vector<Shape> PoolingLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const auto& p = param().pooling_param();
  const Shape& bottom = bottoms[0];
  require_elements(bottoms);
  if (bottom.axes() < 3 || bottom.axes() > 5 || p.axis() != 1) {
    throw Error(ErrorKind::kConfig,
                str("pooling takes an input of batch, channels and one to three spatial axes, not ", bottom.str()));
  }
  std::vector<WindowAxis> axes = read_windows(p, bottom);
  const bool padded = std::any_of(axes.begin(), axes.end(), [](const WindowAxis& axis) { return axis.pad > 0; });
  std::vector<int64_t> dims{bottom[0], bottom[1]};
  for (size_t a = 0; a < axes.size(); ++a) {
    WindowAxis& axis = axes[a];
    axis.out = outputs(axis, p.round_mode() == caffe::PoolingParameter::CEIL);
    // With padding on any axis the last window must begin inside of the image or the padding before it.
    if (padded && (axis.out - 1) * axis.stride >= axis.in + axis.pad) --axis.out;
    if (axis.out < 1) {
      throw bad_field("kernel_size",
                      str("kernel_size ", axis.kernel, " exceeds input ", spatial_axis_name(a, axes.size()), " ",
                          axis.in, axis.pad > 0 ? str(" plus 2 x ", axis.pad, " of padding") : ""),
                      "use a smaller kernel, more padding or a larger input");
    }
    dims.push_back(axis.out);
  }
  batch_ = bottom[0];
  channels_ = bottom[1];
  axes_ = axes;
  return std::vector<Shape>(static_cast<size_t>(std::max(1, param().top_size())), Shape(dims));
}

double PoolingLayer::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
  return static_cast<double>(tops[0].count()) * static_cast<double>(taps(axes_));
}

bool PoolingLayer::has_empty_windows() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const WindowAxis& axis) {
    const int64_t last = (axis.out - 1) * axis.stride - axis.pad;
    return last >= axis.in;
  });
}

ROBUSTA_REGISTER_LAYER("Pooling", PoolingLayer);

}  // namespace robusta
