// Reads windows. Both messages name their fields alike, so that one template collects them, and one function brings the
// forms of a field into values per axis.

#include "layers/kit/windows.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using Values = google::protobuf::RepeatedField<uint32_t>;
using PerAxis = std::vector<int64_t>;

/// One field in all the forms that a message has for it.
struct Field {
  std::string name;                 ///< "kernel_size"
  std::string stem;                 ///< of *_h and *_w: "kernel"
  int64_t otherwise;                ///< what holds where nothing is given
  std::optional<int64_t> one = {};  ///< for all axes
  std::string each_name = {};       ///< of the list: "kernel_size" or "kernel_size_3d"
  PerAxis each = {};                ///< one per axis
  std::optional<int64_t> h = {}, w = {};
};

struct Fields {
  Field kernel{"kernel_size", "kernel", 1}, stride{"stride", "stride", 1}, pad{"pad", "pad", 0};
};

std::optional<int64_t> given(bool has, int64_t value) { return has ? std::optional(value) : std::nullopt; }

/// The forms that both messages have.
template <typename Param>
Fields read_pairs(const Param& p) {
  Fields fields;
  fields.kernel.h = given(p.has_kernel_h(), p.kernel_h());
  fields.kernel.w = given(p.has_kernel_w(), p.kernel_w());
  fields.stride.h = given(p.has_stride_h(), p.stride_h());
  fields.stride.w = given(p.has_stride_w(), p.stride_w());
  fields.pad.h = given(p.has_pad_h(), p.pad_h());
  fields.pad.w = given(p.has_pad_w(), p.pad_w());
  return fields;
}

/// A list of one value is for all axes.
void set_list(const Values& list, Field& field) {
  field.each_name = field.name;
  if (list.size() == 1) {
    field.one = list[0];
  } else {
    field.each.assign(list.begin(), list.end());
  }
}

/// Intel's lists for three axes; those of naibaf7's Caffe, for any, are read as them (schema/repeated_windows.h).
void set_3d(std::optional<int64_t> one, const Values& list, Field& field) {
  set_list(list, field);
  field.each_name = field.name + "_3d";
  if (one) field.one = one;
}

/// Brings fields of one message into values per axis.
class Reader {
 public:
  /// `pairs_halve`: of *_h and *_w one alone may be given, the other axis then has the default.
  Reader(std::string message, size_t axes, bool pairs_halve)
      : message_(std::move(message)), axes_(axes), pairs_halve_(pairs_halve) {}

  Error bad_field(const std::string& field, const std::string& cause, const std::string& fix) const {
    return Error(ErrorKind::kConfig, cause, fix).in_field(message_ + "." + field);
  }

  PerAxis read(const Field& field, int64_t least) const {
    PerAxis values = field.h || field.w ? pair(field) : list(field);
    for (int64_t value : values) check(field.name, value, least);
    return values;
  }

  /// Of height and width, the padding of each side (Synopsys's Caffe): sets pads, where one of the four is given.
  /// Checks pad_type, which stands for them.
  template <typename Param>
  void read_sides(const Param& p, const Field& pad, std::vector<WindowAxis>& axes) const {
    const bool padded = pad.one.value_or(0) > 0 || !pad.each.empty() || pad.h || pad.w;
    if (p.pad_type() > 1) {
      throw bad_field("pad_type", str("there is no pad_type ", p.pad_type()), "give 1, as TensorFlow's SAME, or 0");
    }
    if (p.pad_type() == 1 && (padded || p.pad_t() != 0 || p.pad_b() != 0 || p.pad_l() != 0 || p.pad_r() != 0)) {
      throw bad_field("pad_type", "pad_type is given together with padding", "use one of the two forms");
    }
    const std::pair<const char*, int64_t> sides[] = {
        {"pad_t", p.pad_t()}, {"pad_b", p.pad_b()}, {"pad_l", p.pad_l()}, {"pad_r", p.pad_r()}};
    for (size_t i = 0; i < std::size(sides); ++i) {
      const auto& [name, value] = sides[i];
      if (value == 0) continue;
      if (axes_ != 2) {
        throw bad_field(name, str(name, " is for two spatial axes, and there are ", axes_), "give pad, for both sides");
      }
      if (pad.one || !pad.each.empty() || pad.h || pad.w) {
        throw bad_field(name, str(name, " is given together with padding for both sides"), "use one of the two forms");
      }
      check(name, value, 0);
      WindowAxis& axis = axes[i / 2];
      if (i % 2 == 0) {
        axis.pad = value;
        axis.more_pad_behind = -value;
      } else {
        axis.more_pad_behind += value;
      }
    }
  }

 private:
  void check(const std::string& name, int64_t value, int64_t least) const {
    constexpr int64_t kMost = int64_t{1} << 20;  // longer than any signal or image that fits a batch
    if (value < least) {
      const std::string lower = least == 0 ? " is negative" : " is 0";
      throw bad_field(name, name + lower, str("give a ", name, " of at least ", least));
    }
    if (value > kMost) throw bad_field(name, str(name, " ", value, " is out of all proportion"), "");
  }

  PerAxis list(const Field& field) const {
    if (field.each.empty()) return PerAxis(axes_, field.one.value_or(field.otherwise));
    if (field.each.size() == axes_) return field.each;
    throw bad_field(field.each_name,
                    str(field.each_name, " is given ", field.each.size(), " times for ", axes_, " spatial axes"),
                    "give it once for all axes, or once per axis");
  }

  PerAxis pair(const Field& field) const {
    const std::string h = field.stem + "_h", w = field.stem + "_w", first = field.h ? h : w;
    if (field.one || !field.each.empty()) {
      const std::string other = field.one ? field.name : field.each_name;
      throw bad_field(other, str(other, " is given together with ", first), "use one of the two forms");
    }
    if (!pairs_halve_ && (!field.h || !field.w)) {
      throw bad_field(first, str("only one of ", h, " and ", w, " is given"), "give both");
    }
    if (axes_ != 2) {
      throw bad_field(first, str(h, " and ", w, " are for two spatial axes, and there are ", axes_),
                      str("give ", field.name, pairs_halve_ ? " once per axis" : ""));
    }
    return {field.h.value_or(field.otherwise), field.w.value_or(field.otherwise)};
  }

  std::string message_;
  size_t axes_;
  bool pairs_halve_;
};

std::vector<WindowAxis> read_axes(const Reader& reader, const Fields& fields, size_t count) {
  const PerAxis kernel = reader.read(fields.kernel, 1), stride = reader.read(fields.stride, 1);
  const PerAxis pad = reader.read(fields.pad, 0);
  std::vector<WindowAxis> axes(count);
  for (size_t a = 0; a < count; ++a) {
    axes[a].kernel = kernel[a];
    axes[a].stride = stride[a];
    axes[a].pad = pad[a];
  }
  return axes;
}

void read_dilation(const Reader& reader, const Values& list, std::vector<WindowAxis>& axes) {
  Field dilation{"dilation", "dilation", 1};
  set_list(list, dilation);
  const PerAxis dilations = reader.read(dilation, 1);
  for (size_t a = 0; a < axes.size(); ++a) axes[a].dilation = dilations[a];
}

/// pad_type: 1 of Synopsys's Caffe, TensorFlow's SAME: as much padding as it takes for a window at each stride-th
/// input, the half of it, rounded down, in front.
void pad_as_same(WindowAxis& axis) {
  const int64_t out = (axis.in + axis.stride - 1) / axis.stride;
  const int64_t pad = std::max<int64_t>(0, (out - 1) * axis.stride + axis.extent() - axis.in);
  axis.pad = pad / 2;
  axis.more_pad_behind = pad % 2;
}

void make_global(const Reader& reader, WindowAxis& axis) {
  const bool padded = axis.padded_in() > axis.in;
  if (padded || axis.stride != 1) {
    throw reader.bad_field(padded ? "pad" : "stride", "global_pooling goes with pad 0 and stride 1 only",
                           "remove pad and stride");
  }
  if (axis.dilation > 1) {
    throw reader.bad_field("dilation", "global_pooling goes with dilation 1 only", "remove dilation");
  }
  axis.kernel = axis.in;
}

}  // namespace

std::string spatial_axis_name(size_t axis, size_t axes) {
  if (axes == 1) return "length";
  if (axes == 2) return axis == 0 ? "height" : "width";
  if (axes == 3) return axis == 0 ? "depth" : axis == 1 ? "height" : "width";
  return str("spatial axis ", axis);
}

std::vector<WindowAxis> read_windows(const caffe::ConvolutionParameter& p, size_t count) {
  const Reader reader("convolution_param", count, true);
  if (count > 0 && p.kernel_size().empty() && !(p.has_kernel_h() && p.has_kernel_w())) {
    throw reader.bad_field("kernel_size", "no kernel_size is given", "add kernel_size, or both kernel_h and kernel_w");
  }
  Fields fields = read_pairs(p);
  set_list(p.kernel_size(), fields.kernel);
  set_list(p.stride(), fields.stride);
  set_list(p.pad(), fields.pad);
  std::vector<WindowAxis> axes = read_axes(reader, fields, count);
  reader.read_sides(p, fields.pad, axes);
  read_dilation(reader, p.dilation(), axes);
  return axes;
}

std::vector<WindowAxis> read_windows(const caffe::PoolingParameter& p, const Shape& bottom) {
  const size_t count = static_cast<size_t>(bottom.axes() - 2);
  const Reader reader("pooling_param", count, false);
  const bool names_kernel = p.has_kernel_size() || p.has_kernel_h() || p.has_kernel_w() || p.kernel_size_3d_size() > 0;
  if (p.global_pooling() == names_kernel) {
    throw reader.bad_field(
        "kernel_size", names_kernel ? "a kernel size is given together with global_pooling" : "no kernel_size is given",
        "give either a kernel size or global_pooling: true");
  }
  Fields fields = read_pairs(p);
  set_3d(given(p.has_kernel_size(), p.kernel_size()), p.kernel_size_3d(), fields.kernel);
  set_3d(given(p.has_stride(), p.stride()), p.stride_3d(), fields.stride);
  set_3d(given(p.has_pad(), p.pad()), p.pad_3d(), fields.pad);
  std::vector<WindowAxis> axes = read_axes(reader, fields, count);
  reader.read_sides(p, fields.pad, axes);
  read_dilation(reader, p.dilation(), axes);
  for (size_t a = 0; a < count; ++a) {
    axes[a].in = bottom[static_cast<int>(a) + 2];
    if (p.global_pooling()) make_global(reader, axes[a]);
    if (p.pad_type() == 1) pad_as_same(axes[a]);
    const int64_t pad = std::max(axes[a].pad, axes[a].pad_behind());
    if (pad >= axes[a].extent()) {
      throw reader.bad_field("pad", str("pad ", pad, " is not smaller than kernel_size ", axes[a].kernel),
                             "a window would lie in the padding altogether; use less padding");
    }
  }
  return axes;
}

void set_convolved_extents(const caffe::ConvolutionParameter& param, const Shape& bottom, int channel_axis,
                           std::vector<WindowAxis>& axes) {
  for (size_t a = 0; a < axes.size(); ++a) {
    WindowAxis& axis = axes[a];
    axis.in = bottom[channel_axis + 1 + static_cast<int>(a)];
    if (param.pad_type() == 1) pad_as_same(axis);
    // Convolutions round down; poolings of Caffe round up.
    const int64_t room = axis.padded_in() - axis.extent();
    if (room < 0) throw window_exceeds_input("convolution_param", axes, a);
    axis.out = room / axis.stride + 1;
  }
}

std::vector<AxisMap> window_alignment(const std::vector<WindowAxis>& axes) {
  std::vector<AxisMap> maps;
  for (const WindowAxis& axis : axes) {
    // Pixel i of the output stands for the middle of its window, i x stride - pad + (extent - 1) / 2 of the input.
    const double middle = 0.5 * static_cast<double>(axis.extent() - 1);
    maps.push_back({static_cast<double>(axis.stride), middle - static_cast<double>(axis.pad)});
  }
  return maps;
}

Error window_exceeds_input(const std::string& message, const std::vector<WindowAxis>& axes, size_t index) {
  const WindowAxis& axis = axes[index];
  const std::string dilated = axis.dilation > 1 ? str(" (", axis.extent(), " with dilation ", axis.dilation, ")") : "";
  const std::string padded = axis.pad > 0 ? str(" plus 2 x ", axis.pad, " of padding") : "";
  return Error(ErrorKind::kConfig,
               str("kernel_size ", axis.kernel, dilated, " exceeds input ", spatial_axis_name(index, axes.size()), " ",
                   axis.in, padded),
               "use a smaller kernel, more padding or a larger input")
      .in_field(message + ".kernel_size");
}

}  // namespace robusta
