// Operations become operation graphs, from which cuDNN's heuristics propose engines.

#include "device/cuda/dnn/graph.h"

namespace robusta::dnn {

/// The three convolutions name the same things differently. x, w, y: the image, the filters, the result, or their
/// gradients.
struct Graph::ConvolutionNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, window, alpha, beta;
};

const Graph::ConvolutionNames Graph::kForward{
    .type = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    .x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    .w = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
    .y = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    .window = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
};
const Graph::ConvolutionNames Graph::kDataGradient{
    .type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
    .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
    .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
    .window = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
};
const Graph::ConvolutionNames Graph::kFilterGradient{
    .type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
    .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
    .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
    .window = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
};

int Graph::tensor(const TensorSpec& spec) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, spec.id);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, spec.type);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  tensor.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, spec.dims);
  tensor.set_all(CUDNN_ATTR_TENSOR_STRIDES, spec.strides);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, spec.is_virtual);
  tensor.finalize();
  tensors_.push_back(std::move(tensor));
  return static_cast<int>(tensors_.size()) - 1;
}

void Graph::convolve(int x, int w, int y, const WindowSpec& window) { add_convolution(kForward, x, w, y, window); }

void Graph::data_gradient(int dy, int w, int dx, const WindowSpec& window) {
  add_convolution(kDataGradient, dx, w, dy, window);
}

void Graph::filter_gradient(int x, int dy, int dw, const WindowSpec& window) {
  add_convolution(kFilterGradient, x, dw, dy, window);
}

void Graph::add(int a, int b, int sum) {
  add_pointwise(CUDNN_POINTWISE_ADD, {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a},
                                      {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b},
                                      {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum}});
}

void Graph::relu(int x, int y) {
  add_pointwise(CUDNN_POINTWISE_RELU_FWD,
                {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void Graph::relu_gradient(int dy, int y, int dx) {
  // Where a ReLU's input is positive its output is, so that either may be given for the input.
  add_pointwise(CUDNN_POINTWISE_RELU_BWD, {{CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy},
                                           {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, y},
                                           {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, dx}});
}

void Graph::pass_on(int x, int y) {
  add_pointwise(CUDNN_POINTWISE_IDENTITY,
                {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void Graph::sum_channels(int x, int sum, int squares) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, tensors_[static_cast<size_t>(x)]);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, tensors_[static_cast<size_t>(sum)]);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, tensors_[static_cast<size_t>(squares)]);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

bool Graph::finish(const Target& target, std::string& why_not) {
  std::vector<const Descriptor*> operations;
  for (const Descriptor& operation : operations_) operations.push_back(&operation);
  graph_.set_list(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  target.hand_to_graph(graph_);
  return graph_.try_finalize(why_not);
}

void Graph::add_convolution(const ConvolutionNames& names, int x, int w, int y, const WindowSpec& window) {
  Descriptor description(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  description.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  description.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  description.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(window.pads.size()));
  description.set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.pads);
  description.set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.pads_behind);
  description.set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.strides);
  description.set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilations);
  description.finalize();

  Descriptor operation(names.type);
  operation.set(names.x, tensors_[static_cast<size_t>(x)]);
  operation.set(names.w, tensors_[static_cast<size_t>(w)]);
  operation.set(names.y, tensors_[static_cast<size_t>(y)]);
  operation.set(names.window, description);
  operation.set(names.alpha, 1.0f);
  operation.set(names.beta, 0.0f);
  operation.finalize();
  descriptions_.push_back(std::move(description));
  operations_.push_back(std::move(operation));
}

void Graph::add_pointwise(cudnnPointwiseMode_t mode, const std::vector<Operand>& operands) {
  Descriptor description(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  description.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  description.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  description.finalize();

  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, description);
  for (const auto& [name, tensor] : operands) operation.set(name, tensors_[static_cast<size_t>(tensor)]);
  operation.finalize();
  descriptions_.push_back(std::move(description));
  operations_.push_back(std::move(operation));
}

}  // namespace robusta::dnn
