// Layer types, and forms of them, that a reader lacks and that nothing rewrites. What each takes was tried type by
// type, and with the recordings of the real Caffe (scripts/check_readers.py --recordings).

#include <algorithm>
#include <span>
#include <string_view>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_forms.h"

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

/// What ncnn's caffe2ncnn writes with its fields, and the library computes as Caffe does. Not so: ArgMax, Bias, Clip,
/// Interp (corners are not aligned), Reduction, Tile, layers with states, and layers of regions, of which it takes one
/// at a time.
constexpr std::string_view kOfNcnn[] = {
    "AbsVal",  "BNLL",  "BatchNorm", "Concat", "Convolution",    "Crop",         "Deconvolution", "DetectionOutput",
    "Dropout", "ELU",   "Eltwise",   "Exp",    "Flatten",        "InnerProduct", "Input",         "LRN",
    "Log",     "MVN",   "Normalize", "PReLU",  "Permute",        "Pooling",      "Power",         "PriorBox",
    "ReLU",    "ReLU6", "Reshape",   "Scale",  "ShuffleChannel", "Sigmoid",      "Silence",       "Slice",
    "Softmax", "Split", "Swish",     "TanH",   "Threshold"};

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

/// What TPU-MLIR's converter makes the same of. Not so: Embed, Power, Split, Tile; and Reduction, of which it knows the
/// mean alone, along one axis.
constexpr std::string_view kOfTpuMlir[] = {"AbsVal",
                                           "ArgMax",
                                           "BN",
                                           "BatchNorm",
                                           "Concat",
                                           "ContinuationIndicator",
                                           "Convolution",
                                           "Crop",
                                           "Deconvolution",
                                           "DetectionOutput",
                                           "Dropout",
                                           "Eltwise",
                                           "Flatten",
                                           "InnerProduct",
                                           "Input",
                                           "Interp",
                                           "LRN",
                                           "LSTM",
                                           "MatMul",
                                           "Mish",
                                           "Normalize",
                                           "PReLU",
                                           "Permute",
                                           "Pooling",
                                           "PriorBox",
                                           "Proposal",
                                           "ROIPooling",
                                           "ReLU",
                                           "ReLU6",
                                           "Reorg",
                                           "Reshape",
                                           "Reverse",
                                           "Scale",
                                           "ShuffleChannel",
                                           "Sigmoid",
                                           "Silence",
                                           "Slice",
                                           "Softmax",
                                           "TanH",
                                           "Upsample"};

/// What RKNN-Toolkit2's loader ends with. Types of forks it is given with a warning: of some it knows more than was
/// tried.
constexpr std::string_view kLackingInRknn[] = {"AbsVal",    "Bias",   "Clip",  "BatchReindex", "ELU", "Embed", "Exp",
                                               "Filter",    "Im2col", "LSTM",  "LSTMUnit",     "Log", "MVN",   "RNN",
                                               "Reduction", "SPP",    "Swish", "Threshold"};

/// A form of a layer type that a reader does not take.
struct Form {
  std::string_view type;
  bool (*has)(const DeployNet& net, int layer);
  const char* cause;
  const char* field;
};

constexpr Form kNotInOpenCv[] = {
    {"Convolution", is_over_other_than_channels, "a convolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Deconvolution", is_no_image, "a Deconvolution over other than images", "convolution_param"},
};

/// What none of the readers below takes, which know windows over images, of one blob into another.
constexpr Form kNotOfImages[] = {
    {"Convolution", is_no_image, "a Convolution over other than images", "convolution_param"},
    {"Convolution", has_several_bottoms, "a Convolution of several bottoms", "bottom"},
    {"Deconvolution", is_no_image, "a Deconvolution over other than images", "convolution_param"},
    {"Deconvolution", has_several_bottoms, "a Deconvolution of several bottoms", "bottom"},
    {"Pooling", has_several_tops, "a Pooling with a mask", "top"},
    {"Pooling", leaves_out_a_window, "a Pooling whose last window would begin in the padding", "pooling_param"},
};

constexpr Form kNotInMnn[] = {
    {"Scale", has_several_bottoms, "a Scale of two bottoms", "bottom"},
    {"Scale", is_of_other_axes, "a Scale along other than the channels", "scale_param"},
};

/// ncnn computes sample by sample, and its arrays do not have that axis.
constexpr Form kNotInNcnn[] = {
    {"Concat", works_along_the_samples, "a Concat along the samples", "concat_param"},
    {"Convolution", is_over_other_than_channels, "a Convolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Crop", works_along_the_samples, "a Crop along the samples", "crop_param.axis"},
    {"Deconvolution", is_over_other_than_channels, "a Deconvolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"InnerProduct", multiplies_other_than_rows, "an InnerProduct along other than all axes or the last of three",
     "inner_product_param.axis"},
    {"Input", has_no_samples, "an Input of fewer than two axes, samples first", "input_param"},
    {"Permute", is_no_image, "a Permute of other than images", "permute_param"},
    {"Permute", moves_the_samples, "a Permute of the samples", "permute_param.order"},
    {"Pooling", is_stochastic, "a STOCHASTIC Pooling", "pooling_param.pool"},
    {"Reshape", changes_the_samples, "a Reshape that changes the number of samples", "reshape_param"},
    {"Reshape", has_other_than_two_to_four_axes, "a Reshape to fewer than two or more than four axes", "reshape_param"},
    {"Scale", is_learned_along_other_axes, "a Scale along other than the channels", "scale_param"},
    {"Scale", is_by_other_than_channels, "a Scale of two bottoms, the second of which is not a number for each channel",
     "bottom"},
    {"Slice", works_along_the_samples, "a Slice along the samples", "slice_param"},
    {"Softmax", works_along_the_samples, "a Softmax along the samples", "softmax_param.axis"},
};

/// What RKNN-Toolkit2 refuses, ends with, or computes otherwise.
constexpr Form kNotInRknn[] = {
    {"ArgMax", is_other_than_one_place, "an ArgMax without an axis, of more than one place, or of values",
     "argmax_param"},
    {"Convolution", is_over_other_than_channels, "a Convolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Deconvolution", is_over_other_than_channels, "a Deconvolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Deconvolution", moves_by_single_pixels, "a Deconvolution of stride 1", "convolution_param.stride"},
    {"InnerProduct", multiplies_the_samples, "an InnerProduct along the samples", "inner_product_param.axis"},
    {"LRN", is_within_channels, "an LRN within channels", "lrn_param.norm_region"},
    {"Pooling", leaves_gaps, "a Pooling whose stride is larger than its window", "pooling_param.stride"},
    {"Power", is_constant, "a Power of scale 0", "power_param.scale"},
    {"Scale", is_learned_along_other_axes, "a Scale along other than the channels", "scale_param"},
    {"Scale", is_by_other_than_channels, "a Scale of two bottoms, the second of which is not a number for each channel",
     "bottom"},
};

constexpr Form kNotInOpenVino[] = {
    {"MVN", is_across_channels, "an MVN across channels", "mvn_param.across_channels"},
    {"Scale", is_learned_along_other_axes, "a Scale along other than the channels", "scale_param"}};

/// What TPU-MLIR's converter refuses, or makes something else of.
constexpr Form kNotInTpuMlir[] = {
    {"ArgMax", is_other_than_one_place, "an ArgMax without an axis, of more than one place, or of values",
     "argmax_param"},
    {"Convolution", is_of_volumes, "a Convolution over three axes and more", "convolution_param"},
    {"Convolution", is_over_other_than_channels, "a Convolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Convolution", has_several_bottoms, "a Convolution of several bottoms", "bottom"},
    {"Deconvolution", is_no_image, "a Deconvolution over other than images", "convolution_param"},
    {"Deconvolution", is_over_other_than_channels, "a Deconvolution whose channels are not axis 1",
     "convolution_param.axis"},
    {"Deconvolution", has_several_bottoms, "a Deconvolution of several bottoms", "bottom"},
    {"LRN", is_within_channels, "an LRN within channels", "lrn_param.norm_region"},
    {"LSTM", has_a_static_input, "an LSTM with a static input", "bottom"},
    {"LSTM", has_several_tops, "an LSTM whose states are tops", "top"},
    {"Pooling", has_several_tops, "a Pooling with a mask", "top"},
    {"Scale", has_other_than_two_or_four_axes, "a Scale of other than two or four axes", "scale_param"},
    {"Scale", is_learned_along_other_axes, "a Scale along other than the channels", "scale_param"},
    {"Scale", is_multiplied_from_a_later_axis, "a Scale of two bottoms from another axis than the first on",
     "scale_param.axis"},
};

/// One reader.
struct Reader {
  const char* name;
  std::span<const std::string_view> types;  ///< none: all but those that are lacking
  std::span<const Form> not_taken;
  std::span<const Form> common = kNotOfImages;
  std::span<const std::string_view> lacking = {};
};

constexpr Reader kOpenCvReader{"OpenCV", kOfOpenCv, kNotInOpenCv, {}}, kMnnReader{"MNN", kOfMnn, kNotInMnn},
    kOpenVinoReader{"OpenVINO", kOfOpenVino, kNotInOpenVino}, kNcnnReader{"ncnn", kOfNcnn, kNotInNcnn},
    kRknnReader{"RKNN", {}, kNotInRknn, kNotOfImages, kLackingInRknn},
    kTpuMlirReader{"TPU-MLIR", kOfTpuMlir, kNotInTpuMlir, {}};

bool has(std::span<const std::string_view> types, const std::string& type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::optional<Finding> find_untaken(const Reader& reader, const DeployNet& net, int layer) {
  const std::string& type = net.param(layer).type();
  if (has(reader.lacking, type) || (!reader.types.empty() && !has(reader.types, type))) {
    return Finding{str(reader.name, " has no layer of type ", type, " with Caffe's fields"), "type"};
  }
  for (const std::span<const Form> forms : {reader.not_taken, reader.common}) {
    for (const Form& form : forms) {
      if (form.type == type && form.has(net, layer)) {
        return Finding{str(reader.name, " does not take ", form.cause), form.field};
      }
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

std::optional<Finding> check_rknn_types(const DeployNet& net, int layer) {
  return find_untaken(kRknnReader, net, layer);
}
void mend_rknn_types(DeployNet& net, int layer) { refuse_untaken(kRknnReader, net, layer); }

std::optional<Finding> check_ncnn_types(const DeployNet& net, int layer) {
  return find_untaken(kNcnnReader, net, layer);
}
void mend_ncnn_types(DeployNet& net, int layer) { refuse_untaken(kNcnnReader, net, layer); }

std::optional<Finding> check_openvino_types(const DeployNet& net, int layer) {
  return find_untaken(kOpenVinoReader, net, layer);
}
void mend_openvino_types(DeployNet& net, int layer) { refuse_untaken(kOpenVinoReader, net, layer); }

std::optional<Finding> check_tpu_mlir_types(const DeployNet& net, int layer) {
  return find_untaken(kTpuMlirReader, net, layer);
}
void mend_tpu_mlir_types(DeployNet& net, int layer) { refuse_untaken(kTpuMlirReader, net, layer); }

}  // namespace robusta::deploy
