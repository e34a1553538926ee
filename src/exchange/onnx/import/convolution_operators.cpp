// Conv, ConvTranspose, Gemm, MatMul: layers with arrays of the model.

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "exchange/onnx/import/windows.h"

namespace robusta {
namespace {

/// Two axes whose kernels differ are kernel_h and kernel_w for every Caffe.
void write_kernel(caffe::ConvolutionParameter& p, const OnnxWindows& windows) {
  if (windows.kernel.size() == 2 && windows.kernel[0] != windows.kernel[1]) {
    p.set_kernel_h(static_cast<uint32_t>(windows.kernel[0]));
    p.set_kernel_w(static_cast<uint32_t>(windows.kernel[1]));
  } else {
    write_each(windows.kernel, 0, [&](uint32_t kernel) { p.add_kernel_size(kernel); });
  }
  if (windows.stride.size() == 2 && windows.stride[0] != windows.stride[1]) {
    p.set_stride_h(static_cast<uint32_t>(windows.stride[0]));
    p.set_stride_w(static_cast<uint32_t>(windows.stride[1]));
  } else {
    write_each(windows.stride, 1, [&](uint32_t stride) { p.add_stride(stride); });
  }
  if (windows.before.size() == 2 && windows.before[0] != windows.before[1]) {
    p.set_pad_h(static_cast<uint32_t>(windows.before[0]));
    p.set_pad_w(static_cast<uint32_t>(windows.before[1]));
  } else {
    write_each(windows.before, 0, [&](uint32_t pad) { p.add_pad(pad); });
  }
  write_each(windows.dilation, 1, [&](uint32_t dilation) { p.add_dilation(dilation); });
}

std::vector<int64_t> spatial(const Shape& shape) { return {shape.dims().begin() + 2, shape.dims().end()}; }

void require_weights(const ImportNode& node) {
  if (!node.is_constant(1)) {
    node.refuse("input 1", "its weights are computed from the inputs of the model", "Caffe's weights are constants");
  }
  if (node.shape(1).axes() < 3 || node.shape(1).axes() != node.shape(0).axes() || node.shape(1).count() == 0)
    node.contradict(str("its weights have shape ", node.shape(1).str(), ", its input ", node.shape(0).str()));
}

uint32_t small_number(const ImportNode& node, const char* what, int64_t number) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (number < 1 || number > kMost) node.contradict(str(what, " is ", number));
  return static_cast<uint32_t>(number);
}

void emit_with_windows(ImportNode& node, const char* type, const std::string& bottom, const OnnxWindows& windows,
                       int64_t outputs) {
  const uint32_t group = small_number(node, "attribute group", node.integer("group", 1));
  node.output(node.layer(type, {bottom}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_convolution_param();
    p.set_num_output(small_number(node, "the number of outputs", outputs));
    write_kernel(p, windows);
    if (group > 1) p.set_group(group);
    add_array(param, node.shape(1), node.floats(1));
    node.has(2) ? add_array(param, Shape{node.shape(2).count()}, node.floats(2)) : p.set_bias_term(false);
  }));
}

void emit_convolution(ImportNode& node) {
  require_weights(node);
  OnnxWindows windows = read_windows(node, node.shape(0), spatial(node.shape(1)));
  if (windows.kernel != spatial(node.shape(1))) node.contradict("kernel_shape is not that of the weights");
  const std::string bottom = pad_apart(node, node.blob(0), windows, 0);
  emit_with_windows(node, "Convolution", bottom, windows, node.shape(1)[0]);
}

void emit_deconvolution(ImportNode& node) {
  require_weights(node);
  const OnnxWindows windows = read_windows(node, node.shape(0), spatial(node.shape(1)));
  const std::vector<int64_t> more = node.integers("output_padding");
  if (std::any_of(more.begin(), more.end(), [](int64_t rows) { return rows != 0; }))
    node.refuse("attribute output_padding", "a Deconvolution has no rows behind its last window",
                "train with output_padding 0");
  if (node.attribute("output_shape") || node.text("auto_pad", "NOTSET").starts_with("SAME"))
    node.refuse("attribute output_shape or auto_pad", "the padding follows from a size", "give pads");
  if (!windows.symmetric())
    node.refuse("attribute pads", "they differ between the two ends of an axis", "pad both ends alike, and slice");
  emit_with_windows(node, "Deconvolution", node.blob(0), windows,
                    product_or_most(node.shape(1)[1], std::max<int64_t>(node.integer("group", 1), 1)));
}

/// Rows and columns exchanged.
std::vector<float> transposed(const std::vector<float>& values, int64_t rows, int64_t columns) {
  std::vector<float> result(values.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column)
      result[static_cast<size_t>(column * rows + row)] = values[static_cast<size_t>(row * columns + column)];
  }
  return result;
}

void scale_by(std::vector<float>& values, double factor) {
  if (factor == 1) return;
  for (float& value : values) value = static_cast<float>(value * factor);
}

/// x w over the last axis of x; `turned`: w has the outputs in rows, as Caffe wants them. An empty bias: there is none.
void emit_inner_product(ImportNode& node, bool turned, std::vector<float> weights, std::vector<float> bias) {
  const Shape &x = node.shape(0), &w = node.shape(1);
  const int64_t inputs = turned ? w[1] : w[0], outputs = turned ? w[0] : w[1];
  if (x.axes() < 1 || x[x.axes() - 1] != inputs || outputs < 1)
    node.contradict(str("shapes ", x.str(), " and ", w.str(), " do not fit together"));
  if (!turned) weights = transposed(weights, inputs, outputs);
  const std::string bottom = x.axes() == 1 ? node.reshape(node.blob(0), Shape{1, inputs}) : node.blob(0);
  const int axis = std::max(x.axes() - 1, 1);
  const std::string product = node.layer("InnerProduct", {bottom}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_inner_product_param();
    p.set_num_output(small_number(node, "the number of outputs", outputs));
    if (axis != 1) p.set_axis(axis);
    add_array(param, Shape{outputs, inputs}, weights);
    bias.empty() ? p.set_bias_term(false) : add_array(param, Shape{outputs}, bias);
  });
  node.output(x.axes() == 1 ? node.reshape(product, Shape{outputs}) : product);
}

void require_matrix(const ImportNode& node) {
  if (!node.is_constant(1)) {
    node.refuse("input 1", "both factors depend on the inputs of the model (attention, for instance)",
                "no layer of Caffe multiplies two blobs as matrices");
  }
  if (node.shape(1).axes() != 2)
    node.refuse("input 1", str("it has shape ", node.shape(1).str()), "an InnerProduct takes one matrix");
}

void emit_gemm(ImportNode& node) {
  require_matrix(node);
  if (node.integer("transA", 0) != 0)
    node.refuse("attribute transA", "the input is transposed", "transpose it in the model");
  std::vector<float> weights = node.floats(1), bias;
  scale_by(weights, node.number("alpha", 1));
  const bool turned = node.integer("transB", 0) != 0;
  if (node.has(2)) {
    if (!node.is_constant(2)) node.refuse("input C", "it is computed from the inputs of the model", "add it by itself");
    const int64_t outputs = node.shape(1)[turned ? 0 : 1];
    bias = node.floats(2);
    scale_by(bias, node.number("beta", 1));
    if (bias.size() == 1) bias.assign(static_cast<size_t>(outputs), bias[0]);
    if (static_cast<int64_t>(bias.size()) != outputs)
      node.refuse("input C", str("it has shape ", node.shape(2).str()), "one number for each output");
  }
  emit_inner_product(node, turned, std::move(weights), std::move(bias));
}

void emit_matrix_product(ImportNode& node) {
  require_matrix(node);
  emit_inner_product(node, false, node.floats(1), {});
}

[[maybe_unused]] const bool registered_convolution_operators =
    register_onnx_operator("Conv", emit_convolution) && register_onnx_operator("ConvTranspose", emit_deconvolution) &&
    register_onnx_operator("Gemm", emit_gemm) && register_onnx_operator("MatMul", emit_matrix_product);

}  // namespace
}  // namespace robusta
