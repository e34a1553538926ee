// The window of a convolution_param: *_h and *_w for two axes, or lists with one value for all or one per axis.

#include "base/str.h"
#include "layers/types/convolution/convolution.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using Values = google::protobuf::RepeatedField<uint32_t>;

Error bad_field(const std::string& field, const std::string& cause, const std::string& fix) {
  return Error(ErrorKind::kConfig, cause, fix).in_field("convolution_param." + field);
}

/// The values per axis of a field given as a list.
std::vector<int64_t> per_axis(const std::string& field, const Values& values, size_t axes, int64_t otherwise) {
  const size_t given = static_cast<size_t>(values.size());
  if (given == 0) return std::vector<int64_t>(axes, otherwise);
  if (given == 1) return std::vector<int64_t>(axes, values[0]);
  if (given != axes) {
    throw bad_field(field, str(field, " is given ", given, " times for ", axes, " spatial axes"),
                    "give it once for all axes, or once per axis");
  }
  return std::vector<int64_t>(values.begin(), values.end());
}

/// One field in its two forms.
struct Field {
  std::string name;  // of the list form
  const Values& list;
  std::string stem;  // "kernel" of kernel_h, kernel_w
  bool has_h, has_w;
  int64_t h, w;
  int64_t otherwise;
};

std::vector<int64_t> read(const Field& field, size_t axes) {
  if (!field.has_h && !field.has_w) return per_axis(field.name, field.list, axes, field.otherwise);
  const std::string pair = field.stem + "_h and " + field.stem + "_w";
  const std::string given = field.stem + (field.has_h ? "_h" : "_w");
  if (!field.list.empty()) {
    throw bad_field(field.name, str(field.name, " is given together with ", given), "use one of the two forms");
  }
  if (axes != 2) {
    throw bad_field(given, str(pair, " are for two spatial axes, and there are ", axes),
                    str("give ", field.name, " once per axis"));
  }
  return {field.h, field.w};
}

void require_range(const std::string& field, const std::vector<int64_t>& values, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 30;  // products of two stay within 64 bits
  for (int64_t value : values) {
    if (value < least) throw bad_field(field, field + " is 0", str("give a ", field, " of at least 1"));
    if (value > kMost) throw bad_field(field, str(field, " ", value, " is out of all proportion"), "");
  }
}

}  // namespace

std::vector<WindowAxis> read_windows(const caffe::ConvolutionParameter& p, size_t axes) {
  if (axes > 0 && p.kernel_size().empty() && !(p.has_kernel_h() && p.has_kernel_w())) {
    throw bad_field("kernel_size", "no kernel_size is given", "add kernel_size, or both kernel_h and kernel_w");
  }
  const auto kernel = read(
      {"kernel_size", p.kernel_size(), "kernel", p.has_kernel_h(), p.has_kernel_w(), p.kernel_h(), p.kernel_w(), 1},
      axes);
  const auto stride = read({"stride", p.stride(), "stride", p.has_stride_h(), p.has_stride_w(),
                            p.has_stride_h() ? p.stride_h() : 1, p.has_stride_w() ? p.stride_w() : 1, 1},
                           axes);
  const auto pad = read({"pad", p.pad(), "pad", p.has_pad_h(), p.has_pad_w(), p.pad_h(), p.pad_w(), 0}, axes);
  const auto dilation = per_axis("dilation", p.dilation(), axes, 1);
  require_range("kernel_size", kernel, 1);
  require_range("stride", stride, 1);
  require_range("dilation", dilation, 1);
  require_range("pad", pad, 0);

  std::vector<WindowAxis> windows(axes);
  for (size_t a = 0; a < axes; ++a) {
    windows[a].kernel = kernel[a];
    windows[a].stride = stride[a];
    windows[a].pad = pad[a];
    windows[a].dilation = dilation[a];
  }
  return windows;
}

}  // namespace robusta
