// Operators that normalise or resize images: BatchNormalization, LRN, Resize, Upsample, DepthToSpace.

#include <cmath>

#include "base/str.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

/// BatchNorm divides, a Scale behind it multiplies and adds.
void emit_batch_norm(ImportNode& node) {
  if (node.shape(0).axes() < 2) node.contradict("its input has no channels");
  const int64_t channels = node.shape(0)[1];
  for (const int input : {1, 2, 3, 4}) {
    if (!node.is_constant(input) || node.shape(input).count() != channels)
      node.contradict(str("input ", input, " is not one known number for each of ", channels, " channels"));
  }
  if (node.integer("training_mode", 0) != 0)
    node.refuse("attribute training_mode", "statistics of the batch are asked for", "export after model.eval()");
  const std::string normalised = node.layer("BatchNorm", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    param.mutable_batch_norm_param()->set_eps(static_cast<float>(node.number("epsilon", 1e-5)));
    add_array(param, Shape{channels}, node.floats(3));
    add_array(param, Shape{channels}, node.floats(4));
    add_array(param, Shape{1}, {1});
  });
  node.output(node.layer("Scale", {normalised}, [&](caffe::LayerParameter& param) {
    param.mutable_scale_param()->set_bias_term(true);
    add_array(param, Shape{channels}, node.floats(1));
    add_array(param, Shape{channels}, node.floats(2));
  }));
}

void emit_lrn(ImportNode& node) {
  const int64_t size = node.integer("size", 0);
  if (size < 1 || size % 2 == 0 || size > 1 << 20)
    node.refuse("attribute size", str("it is ", size), "Caffe's LRN sums over an odd number of channels");
  node.output(node.layer("LRN", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_lrn_param();
    p.set_local_size(static_cast<uint32_t>(size));
    p.set_alpha(static_cast<float>(node.number("alpha", 1e-4)));
    p.set_beta(static_cast<float>(node.number("beta", 0.75)));
    p.set_k(static_cast<float>(node.number("bias", 1)));
  }));
}

/// The size that a Resize gives: by its sizes, or by its scales, which then are exact.
Shape resized(const ImportNode& node) {
  const Shape from = node.shape(0);
  const int scales_at = node.type() == "Upsample" || node.opset() < 11 ? 1 : 2;
  std::vector<int64_t> dims;
  if (node.has(3)) {
    dims = node.whole_numbers(3);
  } else if (node.has(scales_at)) {
    const OnnxConstant scales = node.constant(scales_at);
    for (size_t axis = 0; axis < scales.values.size() && axis < from.dims().size(); ++axis)
      dims.push_back(static_cast<int64_t>(
          std::floor(static_cast<double>(from.dims()[axis]) * std::min(scales.values[axis], 1e6))));
  }
  const Shape to(dims);
  if (from.axes() != 4 || to.axes() != 4 || to[0] != from[0] || to[1] != from[1] || to[2] < 1 || to[3] < 1)
    node.refuse("inputs scales and sizes", str(from.str(), " becomes ", to.str()),
                "height and width alone are resized");
  check_extents(to);
  if (to[2] > 1 << 24 || to[3] > 1 << 24) node.contradict(str("it makes ", to.str()));
  return to;
}

/// Each pixel becomes a block: a Deconvolution whose windows do not overlap, which every Caffe has.
std::string repeat_pixels(ImportNode& node, int64_t height, int64_t width) {
  const int64_t channels = node.shape(0)[1];
  const Shape weights{channels, 1, height, width};
  node.count_folded(weights);
  return node.layer("Deconvolution", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_convolution_param();
    p.set_num_output(static_cast<uint32_t>(channels));
    p.set_group(static_cast<uint32_t>(channels));
    p.set_bias_term(false);
    if (height == width) {
      p.add_kernel_size(static_cast<uint32_t>(height));
      p.add_stride(static_cast<uint32_t>(height));
    } else {
      p.set_kernel_h(static_cast<uint32_t>(height));
      p.set_kernel_w(static_cast<uint32_t>(width));
      p.set_stride_h(static_cast<uint32_t>(height));
      p.set_stride_w(static_cast<uint32_t>(width));
    }
    add_array(param, weights, std::vector<float>(static_cast<size_t>(weights.count()), 1.0f));
  });
}

void emit_nearest(ImportNode& node, const Shape& to, const std::string& places) {
  const Shape from = node.shape(0);
  const std::string rounding =
      node.text("nearest_mode", node.opset() < 11 || node.type() == "Upsample" ? "floor" : "round_prefer_floor");
  const bool floors = places == "asymmetric" && rounding == "floor";
  const bool whole = to[2] % from[2] == 0 && to[3] % from[3] == 0;
  // Middles of the pixels of a block lie nearest to the middle of the one that it is made of.
  const bool middles = places.ends_with("half_pixel") && rounding.starts_with("round");
  if (whole && (floors || middles)) return node.output(repeat_pixels(node, to[2] / from[2], to[3] / from[3]));
  if (!floors) {
    node.refuse("attributes coordinate_transformation_mode and nearest_mode",
                str("they are ", places, " and ", rounding),
                "resize by whole factors, or with asymmetric and floor, as PyTorch's nearest does");
  }
  node.output(node.layer("ResizeNearestNeighbor", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_resize_nearest_neighbor_param();
    p.set_output_height(static_cast<int32_t>(to[2]));
    p.set_output_width(static_cast<int32_t>(to[3]));
    p.set_data_format("NCHW");
  }));
}

void emit_linear(ImportNode& node, const Shape& to, const std::string& places) {
  if (places == "align_corners") {
    return node.output(node.layer("Interp", {node.blob(0)}, [&](caffe::LayerParameter& param) {
      param.mutable_interp_param()->set_height(static_cast<int32_t>(to[2]));
      param.mutable_interp_param()->set_width(static_cast<int32_t>(to[3]));
    }));
  }
  if (places != "half_pixel" && places != "pytorch_half_pixel" && places != "asymmetric") {
    node.refuse("attribute coordinate_transformation_mode", str("it is ", places),
                "align_corners, half_pixel, pytorch_half_pixel and asymmetric are known");
  }
  node.output(node.layer("ResizeBilinear", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_resize_bilinear_param();
    p.set_output_height(static_cast<int32_t>(to[2]));
    p.set_output_width(static_cast<int32_t>(to[3]));
    p.set_data_format("NCHW");
    if (places == "half_pixel") p.set_half_pixel_centers(true);
    if (places == "pytorch_half_pixel") p.set_pytorch_half_pixel(true);
  }));
}

void emit_resize(ImportNode& node) {
  const Shape to = resized(node);
  const std::string mode = node.text("mode", "nearest");
  const bool old = node.type() == "Upsample" || node.opset() < 11;
  const std::string places = node.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  if (to == node.shape(0)) return node.pass_on(0);
  if (node.integer("antialias", 0) != 0)
    node.refuse("attribute antialias", "no layer of Caffe does that", "resize without it");
  if (mode == "nearest") return emit_nearest(node, to, places);
  if (mode == "linear" || mode == "bilinear") return emit_linear(node, to, places);
  node.refuse("attribute mode", str("it is ", mode), "resize by nearest or linear");
}

/// Blocks of channels become blocks of pixels, by way of six axes.
void emit_depth_to_space(ImportNode& node) {
  const Shape from = node.shape(0);
  const int64_t block = node.integer("blocksize", 0);
  if (from.axes() != 4 || block < 1 || block > 1 << 12 || from[1] % (block * block) != 0)
    node.contradict(str("blocksize is ", block, " for ", from.str()));
  const int64_t channels = from[1] / (block * block);
  const bool columns = node.text("mode", "DCR") == "CRD";
  const Shape apart = columns ? Shape{from[0], channels, block, block, from[2], from[3]}
                              : Shape{from[0], block, block, channels, from[2], from[3]};
  const std::string moved =
      node.permute(node.reshape(node.blob(0), apart),
                   columns ? std::vector<int>{0, 1, 4, 2, 5, 3} : std::vector<int>{0, 3, 4, 1, 5, 2});
  node.output(node.reshape(moved, Shape{from[0], channels, from[2] * block, from[3] * block}));
}

[[maybe_unused]] const bool registered_image_operators =
    register_onnx_operator("BatchNormalization", emit_batch_norm) && register_onnx_operator("LRN", emit_lrn) &&
    register_onnx_operator("Resize", emit_resize) && register_onnx_operator("Upsample", emit_resize) &&
    register_onnx_operator("DepthToSpace", emit_depth_to_space);

}  // namespace
}  // namespace robusta
