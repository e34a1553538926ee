// The table of rules, in the order in which they are mended. What each program does was tried with its release of
// November 2026 ("measured"), read in its source, or is said by its documentation.

#include "exchange/deploy/rules.h"

#include "base/log.h"
#include "base/str.h"
#include "exchange/deploy/rule_checks.h"

namespace robusta::deploy {
namespace {

/// Those whose layer types no rule lists one by one.
constexpr uint32_t kWithoutTable = kAll & ~uint32_t{kOpenCv | kNcnn | kMnn | kOpenVino};

constexpr Rule kRules[] = {
    {"new-layers", "layers are written as `layer`, not `layers` or `input`", kNcnn | kMnn | kRknn, "Tengine",
     "measured; Tengine: source", "always written so", nullptr, nullptr},
    {"inference-layers", "no layer is a source of data, a loss or a metric",
     kOpenCv | kNcnn | kMnn | kOpenVino | kTpuMlir, "", "measured",
     "sources become Input layers, losses what they have inside; metrics go", nullptr, nullptr},
    {"float-arrays", "arrays are `data`, not `double_data`, `raw_data` or HDF5",
     kOpenCv | kNcnn | kMnn | kOpenVino | kRknn | kNetron, "caffe2onnx", "measured; Netron: source",
     "always written so", nullptr, nullptr},
    {"array-shapes", "arrays have a `shape`, not num, channels, height and width", kRknn, "caffe2onnx", "measured",
     "always written so", nullptr, nullptr},
    {"three-arrays", "a BatchNorm has three arrays, with shapes, whose factor is not 0", kTpuMlir | kRknn, "Tengine",
     "measured; Tengine: source",
     "always: divided by the factor, which becomes 1; a scale inside becomes a Scale layer", nullptr, nullptr},
    {"one-name", "every layer has a name of its own, the same in both files", kAll, "", "measured; others: source",
     "renames layers", check_one_name, mend_one_name},
    {"average-padding", "AVE pooling has no padding", kNcnn, "", "measured",
     "a grouped Convolution with the same number in each tap", check_average_padding, mend_average_padding},
    {"padded-image", "a Pooling whose window is as large as the image has no padding", kTpuMlir, "", "measured",
     "AVE: a grouped Convolution with the same number in each tap; refuses others", check_padded_image,
     mend_padded_image},
    {"floor-pooling", "no `round_mode`, no `ceil_mode`: pooling rounds up", kOpenCv | kNcnn | kOpenVino | kMnn | kRknn,
     "caffe2onnx", "measured", "rounds up; where that adds a row or column, a grouped Convolution cuts it off",
     check_floor_pooling, mend_floor_pooling},
    {"counted-axes", "axes are counted from the first", kOpenCv | kNcnn | kMnn | kOpenVino, "", "measured",
     "counts them so", check_counted_axes, mend_counted_axes},
    {"kernel-axes", "a Convolution over three axes and more says the kernel of each", kOpenCv, "", "measured",
     "writes them", check_kernel_axes, mend_kernel_axes},
    {"equal-dilations", "a convolution has the same dilation along both axes", kMnn | kNcnn | kOpenVino | kTpuMlir, "",
     "measured", "puts zeros into the kernel", check_equal_dilations, mend_equal_dilations},
    {"kernel-h-w", "`kernel_h` and `kernel_w`, not two `kernel_size` (`pad` and `stride` likewise)",
     kMnn | kNcnn | kOpenVino | kTpuMlir, "", "measured", "rewrites the fields", check_kernel_h_w, mend_kernel_h_w},
    {"one-group", "a Deconvolution has one group, or one for each channel", kTpuMlir, "", "measured",
     "one group, with zeros between those that were", check_one_group, mend_one_group},
    {"known-fields", "no field that Caffe itself does not have", kOpenCv | kMnn | kNcnn | kOpenVino | kRknn | kTpuMlir,
     "caffe2onnx", "measured", "removes fields without effect, refuses others", check_known_fields, mend_known_fields},
    {"global-stats", "BatchNorm says `use_global_stats: true`", kAscend | kNnie, "Huawei's converters", "documentation",
     "always written so", check_global_stats, mend_global_stats},
    {"not-transposed", "InnerProduct without `transpose`", kOpenCv | kNcnn | kRknn, "", "measured",
     "transposes the weights", check_not_transposed, mend_not_transposed},
    {"inner-axis", "InnerProduct has `axis: 1`", kOpenVino | kTpuMlir, "caffe2onnx", "measured",
     "reshapes before and behind it", check_inner_axis, mend_inner_axis},
    {"bias-scale", "no Bias", kOpenCv | kNcnn | kMnn | kOpenVino | kRknn | kTpuMlir, "", "measured",
     "Scale by ones with the bias, or a sum; refuses others", check_bias_scale, mend_bias_scale},
    {"scale-alone", "a Scale of two bottoms has no bias", kOpenCv | kNcnn | kMnn | kOpenVino | kRknn | kTpuMlir, "",
     "measured", "a Scale behind it adds it", check_scale_alone, mend_scale_alone},
    {"gate-product", "no Scale of an image by a second bottom", kMnn, "", "measured",
     "a Deconvolution spreads the gates over the pixels, and Eltwise multiplies", check_gate_product,
     mend_gate_product},
    {"channel-scale", "a Scale has a factor for each channel, not one for all (`num_axes: 0`)",
     kOpenCv | kNcnn | kMnn | kOpenVino | kRknn | kTpuMlir, "", "measured", "repeats it", check_channel_scale,
     mend_channel_scale},
    {"channel-slopes", "a PReLU has a slope for each channel, not one for all (`channel_shared`)", kOpenCv | kTpuMlir,
     "", "measured", "repeats it", check_channel_slopes, mend_channel_slopes},
    {"plain-log", "Log is the natural one of its bottom: no `base`, `scale`, `shift`", kOpenCv | kNcnn, "", "measured",
     "Power layers before and behind it", check_plain_log, mend_plain_log},
    {"plain-exp", "Exp is the natural one of its bottom: no `base`, `scale`, `shift`", kNcnn, "", "measured",
     "a Power before it", check_plain_exp, mend_plain_exp},
    {"no-clip", "no Clip", kOpenCv | kNcnn | kMnn | kOpenVino | kRknn | kTpuMlir, "", "measured",
     "ReLU6, between two Powers where the range is another than 0 to 6; ReLU where one end is open", check_no_clip,
     mend_no_clip},
    {"swish-beta", "Swish has `beta: 1`", kOpenCv | kNcnn | kOpenVino, "", "measured", "Power, Sigmoid and a product",
     check_swish_beta, mend_swish_beta},
    {"no-swish", "no Swish", kMnn | kRknn | kTpuMlir, "", "measured", "Power, Sigmoid and a product", check_no_swish,
     mend_no_swish},
    {"no-split", "no Split whose tops are outputs", kOpenCv | kOpenVino | kTpuMlir, "", "measured",
     "a Power for each top", check_no_split, mend_no_split},
    {"crop-offset", "Crop says its `offset`", kMnn, "", "measured", "writes it", check_crop_offset, mend_crop_offset},
    {"crop-slices", "a Crop's two bottoms agree in the axes between the samples and those that it crops", kNcnn, "",
     "measured", "a Slice along each axis", check_crop_slices, mend_crop_slices},
    {"crop-input", "a Crop's second bottom is an input of the net", kRknn, "", "measured", "warns", check_crop_input,
     nullptr},
    {"tile-concat", "no Tile", kOpenCv | kNcnn | kMnn | kTpuMlir, "", "measured",
     "a Concat of the bottom with itself, or a Power; refuses more than 64 tiles", check_tile_concat, mend_tile_concat},
    {"lrn-fields", "LRN says `local_size`, `alpha` and `beta`", kOpenCv, "", "measured", "writes them",
     check_lrn_fields, mend_lrn_fields},
    {"lrn-k", "LRN has `k: 1`", kOpenCv | kMnn | kNcnn | kRknn, "", "measured",
     "divides `alpha` by k and scales behind it; refuses k <= 0", check_lrn_k, mend_lrn_k},
    {"no-coeff", "Eltwise without `coeff`", kMnn | kOpenVino | kRknn | kTpuMlir, "caffe2onnx", "measured",
     "Power layers before it scale", check_no_coeff, mend_no_coeff},
    {"two-bottoms", "Eltwise has two bottoms", kRknn | kTpuMlir, "", "measured", "an Eltwise of each two",
     check_two_bottoms, mend_two_bottoms},
    {"whole-reshape", "Reshape without `axis` and `num_axes`", kOpenCv | kNcnn | kMnn | kOpenVino | kRknn, "",
     "measured", "writes the whole shape", check_whole_reshape, mend_whole_reshape},
    {"whole-flatten", "Flatten has `axis: 1` and goes to the last axis", kNcnn | kMnn | kRknn | kTpuMlir, "",
     "measured", "a Reshape", check_whole_flatten, mend_whole_flatten},
    {"said-reshape", "Reshape copies no extent (`dim: 0`) but that of the samples", kNcnn, "", "measured",
     "writes the extents", check_said_reshape, mend_said_reshape},
    {"slice-points", "Slice says its `axis` and `slice_point`", kOpenCv | kMnn | kRknn | kTpuMlir, "", "measured",
     "writes them", check_slice_points, mend_slice_points},
    {"average-both", "AVE pooling does not have both padding and a last window that is cut",
     kNcnn | kOpenVino | kRknn | kTpuMlir, "", "measured", "warns", check_average_both, nullptr},
    {"average-cut", "the last window of AVE pooling is not cut", kRknn | kTpuMlir, "", "measured", "warns",
     check_average_cut, nullptr},
    {"known-types", "layer types are Caffe's own", kWithoutTable, "", "Ascend, Horizon: documentation; NNIE: source",
     "warns", check_known_types, nullptr},
    {"opencv-types", "layer types and their forms are those of OpenCV's dnn", kOpenCv, "", "measured", "refuses",
     check_opencv_types, mend_opencv_types},
    {"mnn-types", "layer types and their forms are those of MNN's converter", kMnn, "", "measured", "refuses",
     check_mnn_types, mend_mnn_types},
    {"ncnn-types", "layer types and their forms are those of ncnn's converter", kNcnn, "", "measured", "refuses",
     check_ncnn_types, mend_ncnn_types},
    {"rknn-types", "layer types and their forms are no such as RKNN-Toolkit2 lacks", kRknn, "", "measured", "refuses",
     check_rknn_types, mend_rknn_types},
    {"openvino-types", "layer types and their forms are those of OpenVINO's converter", kOpenVino, "", "measured",
     "refuses", check_openvino_types, mend_openvino_types},
    {"ncnn-fields", "messages of forks are those of ncnn's schema", kNcnn, "", "measured",
     "removes `swish_param`, whose beta is 1 then; refuses others", check_ncnn_fields, mend_ncnn_fields},
    {"last-layer", "the last layer is neither in place nor a Dropout; a Power or Exp is called like its top",
     kNcnn | kMnn | kRknn | kTpuMlir, "", "measured",
     "gives the blob before it another name, and such a layer that of its top", check_last_layer, mend_last_layer},
    {"no-power", "no Power", kTpuMlir, "", "measured", "a Scale with both numbers for each channel; refuses others",
     check_no_power, mend_no_power},
    // Behind those that put a Power in.
    {"tpu-mlir-types", "layer types and their forms are those of TPU-MLIR's converter", kTpuMlir, "", "measured",
     "refuses", check_tpu_mlir_types, mend_tpu_mlir_types},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

std::string rules_markdown() {
  std::string text =
      "| rule | what has to hold | who breaks otherwise | known by | `caffe deploy` |\n|---|---|---|---|---|\n";
  for (const Rule& rule : kRules) {
    const std::string others = rule.others;
    text += str("| `", rule.name, "` | ", rule.statement, " | ", toolchains_text(rule.breaks),
                others.empty() ? "" : "; " + others, " | ", rule.source, " | ", rule.way_out, " |\n");
  }
  return text;
}

void mend(DeployNet& net, uint32_t toolchains) {
  for (const Rule& rule : kRules) {
    if (!rule.check || !(rule.breaks & toolchains)) continue;
    for (int i = 0; i < net.size(); ++i) {
      const std::optional<Finding> finding = rule.check(net, i);
      if (!finding) continue;
      const std::string text = str(net.at(i).source.where(finding->field), ": layer \"", net.param(i).name(),
                                   "\": ", finding->cause, " [", rule.name, "]");
      if (!rule.mend) {
        LOG_WARNING << text << ": " << toolchains_text(rule.breaks & toolchains) << " may compute something else";
        continue;
      }
      try {
        rule.mend(net, i);
      } catch (const Error& error) {
        throw_at(error, net.at(i));
      }
      LOG_INFO << text << ": mended";
    }
  }
}

}  // namespace robusta::deploy
