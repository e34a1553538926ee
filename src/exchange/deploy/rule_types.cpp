// Layer types, and forms of them, that a reader lacks and that nothing rewrites. What each takes was tried type by
// type, and with the recordings of the real Caffe (scripts/check_readers.py --recordings).

#include <algorithm>
#include <span>
#include <string_view>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "layers/kit/windows.h"

namespace robusta::deploy {
namespace {

/// What OpenCV's dnn makes layers of. Its LSTM, Tile and Padding are those of ONNX, which have other fields.
constexpr std::string_view kOfOpenCv[] = {"AbsVal",
                                          "BNLL",
                                          "BatchNorm",
                                          "Concat",
                                          "Convolution",
                                          "Crop",
                                          "Deconvolution",
                                          "Dropout",
                                          "ELU",
                                          "Eltwise",
                                          "DetectionOutput",
                                          "Exp",
                                          "Flatten",
                                          "InnerProduct",
                                          "Input",
                                          "Interp",
                                          "LRN",
                                          "Log",
                                          "MVN",
                                          "Normalize",
                                          "PReLU",
                                          "PSROIPooling",
                                          "Permute",
                                          "Pooling",
                                          "Power",
                                          "PriorBox",
                                          "Proposal",
                                          "ROIPooling",
                                          "ReLU",
                                          "ReLU6",
                                          "Reorg",
                                          "Reshape",
                                          "Scale",
                                          "ShuffleChannel",
                                          "Sigmoid",
                                          "Silence",
                                          "Slice",
                                          "Softmax",
                                          "Split",
                                          "Swish",
                                          "TanH"};

/// What MNN's converter knows, but for what it converts into something else (ArgMax, Embed, Log,
/// MVN, Reduction), and Splits of outputs.
constexpr std::string_view kOfMnn[] = {
    "AbsVal",          "BNLL",     "BatchNorm",  "Concat",    "Convolution", "Crop",      "Deconvolution",
    "DetectionOutput", "Dropout",  "ELU",        "Eltwise",   "Exp",         "Flatten",   "InnerProduct",
    "Input",           "Interp",   "LRN",        "Normalize", "PReLU",       "Permute",   "Pooling",
    "Power",           "PriorBox", "ROIPooling", "ReLU",      "ReLU6",       "Reshape",   "Scale",
    "ShuffleChannel",  "Sigmoid",  "Slice",      "Softmax",   "TanH",        "Threshold", "Upsample"};

/// What OpenVINO's converter has extractors for, but for ArgMax, which it converts into something else, or not at all.
constexpr std::string_view kOfOpenVino[] = {"Axpy",         "BN",         "BatchNorm",      "Concat",
                                            "Convolution",  "Crop",       "Deconvolution",  "DetectionOutput",
                                            "Dropout",      "ELU",        "Eltwise",        "Flatten",
                                            "InnerProduct", "Input",      "Interp",         "LRN",
                                            "MVN",          "Normalize",  "PReLU",          "PSROIPooling",
                                            "Permute",      "Pooling",    "Power",          "PriorBox",
                                            "Proposal",     "ROIPooling", "ReLU",           "ReLU6",
                                            "Reshape",      "Scale",      "ShuffleChannel", "Sigmoid",
                                            "Slice",        "Softmax",    "Swish",          "TanH",
                                            "Tile"};

/// A form of a layer type that a reader does not take.
struct Form {
  std::string_view type;
  bool (*has)(const DeployNet& net, int layer);
  const char* cause;
  const char* field;
};

bool is_over_other_than_channels(const DeployNet& net, int layer) {
  return net.param(layer).convolution_param().axis() != 1;
}

bool is_no_image(const DeployNet& net, int layer) { return net.shapes(layer).bottoms[0].axes() != 4; }

bool has_several_bottoms(const DeployNet& net, int layer) { return net.param(layer).bottom_size() > 1; }
bool has_several_tops(const DeployNet& net, int layer) { return net.param(layer).top_size() > 1; }

bool is_of_other_axes(const DeployNet& net, int layer) {
  const caffe::ScaleParameter& p = net.param(layer).scale_param();
  return p.axis() != 1 || p.num_axes() != 1;
}

bool is_learned_along_other_axes(const DeployNet& net, int layer) {
  return !has_several_bottoms(net, layer) && is_of_other_axes(net, layer);
}

bool is_across_channels(const DeployNet& net, int layer) { return net.param(layer).mvn_param().across_channels(); }

bool ends_before_the_last_axis(const DeployNet& net, int layer) {
  const int end = net.param(layer).flatten_param().end_axis();
  return end != -1 && end != net.shapes(layer).bottoms[0].axes() - 1;
}

/// Caffe leaves out a last window that would begin in the padding.
bool leaves_out_a_window(const DeployNet& net, int layer) {
  const LayerShapes& shapes = net.shapes(layer);
  if (net.param(layer).pooling_param().global_pooling()) return false;
  const std::vector<WindowAxis> axes = read_windows(net.param(layer).pooling_param(), shapes.bottoms[0]);
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t steps = axes[a].padded_in() - axes[a].extent();
    const int64_t all = (steps + axes[a].stride - 1) / axes[a].stride + 1;
    if (shapes.tops[0][static_cast<int>(a) + 2] < all) return true;
  }
  return false;
}

constexpr Form kNotInOpenCv[] = {
    {"Convolution", is_over_other_than_channels, "a convolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Deconvolution", is_no_image, "a Deconvolution over other than images", "convolution_param"},
};

constexpr Form kNotInMnn[] = {
    {"Convolution", is_no_image, "a Convolution over other than images", "convolution_param"},
    {"Convolution", has_several_bottoms, "a Convolution of several bottoms", "bottom"},
    {"Deconvolution", is_no_image, "a Deconvolution over other than images", "convolution_param"},
    {"Deconvolution", has_several_bottoms, "a Deconvolution of several bottoms", "bottom"},
    {"Flatten", ends_before_the_last_axis, "a Flatten that ends before the last axis", "flatten_param.end_axis"},
    {"Pooling", has_several_tops, "a Pooling with a mask", "top"},
    {"Pooling", leaves_out_a_window, "a Pooling whose last window would begin in the padding", "pooling_param"},
    {"Scale", has_several_bottoms, "a Scale of two bottoms", "bottom"},
    {"Scale", is_of_other_axes, "a Scale along other than the channels", "scale_param"},
};

constexpr Form kNotInOpenVino[] = {
    {"Convolution", is_no_image, "a Convolution over other than images", "convolution_param"},
    {"Convolution", has_several_bottoms, "a Convolution of several bottoms", "bottom"},
    {"Deconvolution", is_no_image, "a Deconvolution over other than images", "convolution_param"},
    {"Deconvolution", has_several_bottoms, "a Deconvolution of several bottoms", "bottom"},
    {"MVN", is_across_channels, "an MVN across channels", "mvn_param.across_channels"},
    {"Pooling", has_several_tops, "a Pooling with a mask", "top"},
    {"Pooling", leaves_out_a_window, "a Pooling whose last window would begin in the padding", "pooling_param"},
    {"Scale", is_learned_along_other_axes, "a Scale along other than the channels", "scale_param"}};

/// One reader.
struct Reader {
  const char* name;
  std::span<const std::string_view> types;
  std::span<const Form> not_taken;
};

constexpr Reader kOpenCvReader{"OpenCV", kOfOpenCv, kNotInOpenCv}, kMnnReader{"MNN", kOfMnn, kNotInMnn},
    kOpenVinoReader{"OpenVINO", kOfOpenVino, kNotInOpenVino};

std::optional<Finding> find_untaken(const Reader& reader, const DeployNet& net, int layer) {
  const std::string& type = net.param(layer).type();
  if (std::find(reader.types.begin(), reader.types.end(), type) == reader.types.end()) {
    return Finding{str(reader.name, " has no layer of type ", type, " with Caffe's fields"), "type"};
  }
  for (const Form& form : reader.not_taken) {
    if (form.type == type && form.has(net, layer)) {
      return Finding{str(reader.name, " does not take ", form.cause), form.field};
    }
  }
  return std::nullopt;
}

void refuse_untaken(const Reader& reader, const DeployNet& net, int layer) {
  const Finding found = find_untaken(reader, net, layer).value_or(Finding{});
  throw Error(ErrorKind::kUnsupported, found.cause,
              "end the net before this layer (-blobs), compute it in other layers, or give OpenCV, OpenVINO or others "
              "the model that caffe export -onnx writes")
      .in_field(found.field);
}

}  // namespace

std::optional<Finding> check_opencv_types(const DeployNet& net, int layer) {
  return find_untaken(kOpenCvReader, net, layer);
}
void mend_opencv_types(DeployNet& net, int layer) { refuse_untaken(kOpenCvReader, net, layer); }

std::optional<Finding> check_mnn_types(const DeployNet& net, int layer) { return find_untaken(kMnnReader, net, layer); }
void mend_mnn_types(DeployNet& net, int layer) { refuse_untaken(kMnnReader, net, layer); }

std::optional<Finding> check_openvino_types(const DeployNet& net, int layer) {
  return find_untaken(kOpenVinoReader, net, layer);
}
void mend_openvino_types(DeployNet& net, int layer) { refuse_untaken(kOpenVinoReader, net, layer); }

}  // namespace robusta::deploy
