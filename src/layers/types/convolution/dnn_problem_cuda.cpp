// Builds cuDNN's graphs for the three directions of a convolution.

#include "layers/types/convolution/dnn_problem_cuda.h"

#include "base/str.h"
#include "robusta/error.h"

namespace robusta::dnn {
namespace {

/// cuDNN wants two spatial axes or three: others of extent 1 are put before those that there are.
std::vector<WindowAxis> spatial_axes(const ConvolutionGeometry& geometry) {
  std::vector<WindowAxis> axes = geometry.axes;
  while (axes.size() < 2) axes.insert(axes.begin(), WindowAxis{});
  return axes;
}

cudnnDataType_t dnn_type(DType type) {
  if (type == DType::kBF16) return CUDNN_DATA_BFLOAT16;
  return type == DType::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = channels_last ? dims[1] : 1;
  for (size_t axis = dims.size() - 1; axis >= 2; --axis) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[1] = channels_last ? 1 : stride;
  strides[0] = channels_last ? stride : stride * dims[1];
  return strides;
}

/// Adds the tensors of one problem to a graph.
class Tensors {
 public:
  Tensors(Graph& graph, const Problem& problem) : graph_(graph), problem_(problem) {
    const ConvolutionGeometry& g = problem.geometry;
    image_ = {g.batch, g.channels};
    filters_ = {g.num_output, g.channels / g.group};
    result_ = {g.batch, g.num_output};
    bias_ = {1, g.num_output};
    for (const WindowAxis& axis : spatial_axes(g)) {
      image_.push_back(axis.in);
      filters_.push_back(axis.kernel);
      result_.push_back(axis.out);
      bias_.push_back(1);
    }
  }
  int image(TensorId id = kImage) {
    return add(id, image_, id == kUngated ? DType::kF32 : problem_.type, id == kUngated);
  }
  int filters() { return add(kFilters, filters_, problem_.type); }
  int bias() { return add(kBias, bias_, problem_.type); }
  int sums(TensorId id) { return add(id, bias_, DType::kF32); }
  int addend() { return add(kAddend, result_, problem_.type); }
  /// Results between the convolution and the last operation are f32, and never in memory.
  int result(TensorId id = kResult) {
    return id == kResult ? add(id, result_, problem_.type) : add(id, result_, DType::kF32, true);
  }

 private:
  int add(TensorId id, const std::vector<int64_t>& dims, DType type, bool is_virtual = false) {
    return graph_.tensor({id, dims, strides_of(dims, problem_.channels_last), is_virtual, dnn_type(type)});
  }

  Graph& graph_;
  const Problem& problem_;
  std::vector<int64_t> image_, filters_, result_, bias_;
};

void add_forward(Graph& graph, Tensors& tensors, const Problem& problem, const WindowSpec& window) {
  const int image = tensors.image(), filters = tensors.filters();
  int last = tensors.result(problem.follows() || problem.rounds_apart ? kConvolved : kResult);
  graph.convolve(image, filters, last, window);
  // In this order: behind the bias a sum is known to engines alone that are compiled when they are planned.
  if (problem.adds) {
    const int sum = tensors.result(problem.bias || problem.relu ? kAdded : kResult);
    graph.add(last, tensors.addend(), sum);
    last = sum;
  }
  if (problem.bias) {
    const int sum = tensors.result(problem.relu ? kBiased : kResult);
    graph.add(last, tensors.bias(), sum);
    last = sum;
  }
  if (problem.relu) graph.relu(last, tensors.result());
  if (!problem.sums) return;
  if (problem.rounds_apart) {
    const int rounded = tensors.result();
    graph.pass_on(last, rounded);
    last = rounded;
  }
  graph.sum_channels(last, tensors.sums(kSums), tensors.sums(kSquares));
}

/// The gradient of the image, and of the ReLU that gave it.
void add_gated(Graph& graph, Tensors& tensors, const WindowSpec& window) {
  const int result = tensors.result(), ungated = tensors.image(kUngated);
  graph.data_gradient(result, tensors.filters(), ungated, window);
  graph.relu_gradient(ungated, tensors.image(kGate), tensors.image());
}

void add_direction(Graph& graph, Direction direction, const Problem& problem) {
  Tensors tensors(graph, problem);
  WindowSpec window;
  for (const WindowAxis& axis : spatial_axes(problem.geometry)) {
    window.pads.push_back(axis.pad);
    window.pads_behind.push_back(axis.pad_behind());
    window.strides.push_back(axis.stride);
    window.dilations.push_back(axis.dilation);
  }
  if (direction == Direction::kForward) return add_forward(graph, tensors, problem, window);
  if (direction == Direction::kBackwardData && problem.gates) return add_gated(graph, tensors, window);
  const int image = tensors.image(), result = tensors.result();
  if (direction == Direction::kBackwardData) return graph.data_gradient(result, tensors.filters(), image, window);
  graph.filter_gradient(image, result, tensors.filters(), window);
}

}  // namespace

std::string Problem::key(Direction direction) const {
  const char* names[] = {"forward", "backward_data", "backward_filters"};
  std::string key = str(names[static_cast<int>(direction)], "/n", geometry.batch, "g", geometry.group, "ic",
                        geometry.channels, "oc", geometry.num_output);
  for (const WindowAxis& a : geometry.axes) {
    key += str("_i", a.in, "k", a.kernel, "s", a.stride, "p", a.pad, "d", a.dilation);
    if (a.more_pad_behind != 0) key += str("b", a.pad_behind());
  }
  key += str(channels_last ? "/channels_last" : "/plain", bias ? "/bias" : "", adds ? "/adds" : "", relu ? "/relu" : "",
             gates ? "/gates" : "", sums ? "/sums" : "", rounds_apart ? "/rounds_apart" : "");
  if (type == DType::kF32) return key;
  return key + "/" + name_of(type);
}

std::shared_ptr<const Graph> make_graph(Direction direction, const Problem& problem, const Target& target,
                                        std::string& why_not) try {
  auto graph = std::make_shared<Graph>();
  add_direction(*graph, direction, problem);
  if (!graph->finish(target, why_not)) return nullptr;
  return graph;
} catch (const Error& error) {
  // Any of cuDNN's functions may say that it does not take a shape.
  if (error.kind() == ErrorKind::kMemory) throw;
  why_not = error.cause();
  return nullptr;
}

}  // namespace robusta::dnn
