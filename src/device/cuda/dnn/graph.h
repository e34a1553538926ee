/// A graph of tensors and operations that cuDNN is to compute in one go.
///
/// Tensors are added first, operations name them by index. Everything is f32 inside; sums are f32 as well.
#pragma once

#include <vector>

#include "device/cuda/dnn/target.h"

namespace robusta::dnn {

/// Every address handed to a plan is a multiple of this many bytes.
inline constexpr int64_t kAlignment = 64;

struct TensorSpec {
  int64_t id = 0;                      ///< by which a run binds memory to it (Binding)
  std::vector<int64_t> dims, strides;  ///< in elements: batch, channels, then the spatial axes
  bool is_virtual = false;             ///< between two operations, never in memory
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

/// Of a convolution, per spatial axis.
struct WindowSpec {
  std::vector<int64_t> pads, pads_behind, strides, dilations;  ///< pixels; dilation 1: neighbours
};

class Graph {
 public:
  /// Throws what check_dnn throws, as do all below, for what cuDNN cannot mean.
  int tensor(const TensorSpec& spec);

  /// Cross-correlation (taps are not mirrored): x, w -> y. Groups follow from the channels of x and w.
  void convolve(int x, int w, int y, const WindowSpec& window);
  /// Its gradients: dy, w -> dx and x, dy -> dw.
  void data_gradient(int dy, int w, int dx, const WindowSpec& window);
  void filter_gradient(int x, int dy, int dw, const WindowSpec& window);
  /// sum = a + b, b's extents of 1 repeated.
  void add(int a, int b, int sum);
  /// y = max(x, 0).
  void relu(int x, int y);
  /// y = x, which may be of another type.
  void pass_on(int x, int y);
  /// The sum of x over each channel, and that of its squares.
  void sum_channels(int x, int sum, int squares);
  /// dx = dy where y, what relu() gave, is positive, else 0.
  void relu_gradient(int dy, int y, int dx);

  /// No more tensors and operations. False, with a reason, where cuDNN has no such graph.
  bool finish(const Target& target, std::string& why_not);
  const Descriptor& get() const { return graph_; }

 private:
  struct ConvolutionNames;
  static const ConvolutionNames kForward, kDataGradient, kFilterGradient;
  void add_convolution(const ConvolutionNames& names, int x, int w, int y, const WindowSpec& window);
  /// An operand of a pointwise operation: what it is to that, and which tensor.
  struct Operand {
    cudnnBackendAttributeName_t name;
    int tensor;
  };
  void add_pointwise(cudnnPointwiseMode_t mode, const std::vector<Operand>& operands);

  std::vector<Descriptor> tensors_, descriptions_, operations_;
  Descriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace robusta::dnn
