// Strides move from the last layers to the first: a convolution that has got one hands it on, where it has one tap.
//
// Extents agree whatever they are: floor((floor(a / t) + 1 - 1) / s) + 1 = floor(a / (s t)) + 1 for convolutions of
// strides t and s one after the other.

#include "net/graph/unread_pixels.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "layers/kit/convolution_base.h"
#include "layers/kit/roles.h"
#include "net/graph/shapes.h"

namespace robusta {
namespace {

const ConvolutionBase* convolution_of(const Node& node) {
  const auto* conv = dynamic_cast<const ConvolutionBase*>(node.layer.get());
  return conv && !conv->is_transposed() && node.bottoms.size() == 1 ? conv : nullptr;
}

/// Of a convolution that reads nothing but every s-th pixel: s; of any other layer: 1.
int64_t pixels_per_read(const Node& node) {
  const ConvolutionBase* conv = convolution_of(node);
  if (!conv || conv->geometry().axes.empty()) return 1;
  const auto& axes = conv->geometry().axes;
  const auto alike = [&](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.padded_in() == axis.in && axis.stride == axes[0].stride;
  };
  return std::ranges::all_of(axes, alike) ? axes[0].stride : 1;
}

class StrideMover {
 public:
  explicit StrideMover(Graph& graph) : graph_(graph) {}

  void run() {
    for (const NodeId n : graph_.nodes.ids().reversed()) move_from(n);
    if (!moved_) return;
    put_poolings();
    infer_shapes(graph_);
  }

 private:
  /// Of a sum's bottom one pixel in `stride` is wanted.
  struct Pick {
    VersionId of;
    int64_t stride;
  };

  Node& producer(VersionId v) { return graph_.nodes[graph_.versions[v].producer]; }

  /// Its stride goes to whatever computes what it reads, if all who read that have the same.
  void move_from(NodeId n) {
    stride_ = pixels_per_read(graph_.nodes[n]);
    if (stride_ == 1) return;
    spatial_ = convolution_of(graph_.nodes[n])->geometry().axes.size();
    VersionId read = graph_.nodes[n].bottoms[0];
    std::vector<NodeId> readers{n};
    if (const Node& maker = producer(read); maker.layer->repeats_bottom() && maker.bottoms.size() == 1) {
      readers.clear();
      for (const VersionId top : maker.tops) readers.push_back(graph_.versions[top].consumer);
      read = maker.bottoms[0];
    }
    const auto agrees = [&](NodeId reader) { return reader && pixels_per_read(graph_.nodes[reader]) == stride_; };
    if (!std::ranges::all_of(readers, agrees) || !can_compute_fewer(read)) return;
    LOG_INFO << "Only one pixel in " << stride_ << " per axis of " << graph_.versions[read].name
             << " is read, and computed";
    compute_fewer(read);
    for (const NodeId reader : readers) multiply_stride(graph_.nodes[reader], 1, stride_);
    moved_ = true;
  }

  /// An input's name stands for a blob as large as the input, also where a layer has changed it in place.
  bool can_compute_fewer(VersionId v) {
    const Node& maker = producer(v);
    const BlobVersion& blob = graph_.versions[v];
    if (blob.loss_weight != 0 || maker.tops.size() != 1 || graph_.find_input(blob.name)) return false;
    if (!has_channels(blob.shape)) return false;
    if (const ConvolutionBase* conv = convolution_of(maker)) return takes_stride(*conv);
    if (keeps_pixels_apart(maker)) return can_compute_fewer(maker.bottoms[0]);
    // Pooling takes pixels of the others.
    return dynamic_cast<const Joint*>(maker.layer.get()) && spatial_ <= 3 &&
           blob.shape.axes() == static_cast<int>(spatial_) + 2 &&
           std::ranges::any_of(maker.bottoms, [&](VersionId bottom) { return can_compute_fewer(bottom); });
  }

  /// Axis 1, which has the channels of all layers but a convolution that is told another, is none of pixels.
  bool has_channels(const Shape& shape) const { return shape.axes() >= static_cast<int>(spatial_) + 2; }

  /// Padding that follows from the extents (pad_type) would be another.
  bool takes_stride(const ConvolutionBase& conv) const {
    constexpr int64_t kMost = int64_t{1} << 20;  // as layers/kit/windows.cpp has it
    const auto& axes = conv.geometry().axes;
    return axes.size() == spatial_ && conv.param().convolution_param().pad_type() == 0 &&
           std::ranges::all_of(axes, [&](const WindowAxis& axis) { return axis.stride <= kMost / stride_; });
  }

  /// Whether each pixel of the top follows from the same pixel of the only bottom, all alike.
  bool keeps_pixels_apart(const Node& node) const {
    if (node.bottoms.size() != 1) return false;
    const Layer* layer = node.layer.get();
    if (dynamic_cast<const Rectifier*>(layer)) return true;
    if (const auto* norm = dynamic_cast<const ChannelNorm*>(layer)) return norm->uses_global_stats();
    const Shape& shape = graph_.versions[node.bottoms[0]].shape;
    const auto* scale = dynamic_cast<const ChannelScale*>(layer);
    return scale && scale->is_by_channel(shape[0], shape[1]);
  }

  void compute_fewer(VersionId v) {
    Node& maker = producer(v);
    if (convolution_of(maker)) return multiply_stride(maker, stride_, 1);
    for (const VersionId bottom : maker.bottoms) {
      can_compute_fewer(bottom) ? compute_fewer(bottom) : picks_.push_back({bottom, stride_});
    }
  }

  void multiply_stride(Node& node, int64_t by, int64_t divided_by) {
    caffe::LayerParameter param = node.layer->param();
    auto& windows = *param.mutable_convolution_param();
    windows.clear_stride();
    windows.clear_stride_h();
    windows.clear_stride_w();
    for (const WindowAxis& axis : convolution_of(node)->geometry().axes) {
      windows.add_stride(static_cast<uint32_t>(axis.stride * by / divided_by));
    }
    replace(node, param);
    node.layer->infer_tops(bottom_shapes(graph_, node));
  }

  static void replace(Node& node, const caffe::LayerParameter& param) {
    std::unique_ptr<Layer> before = std::exchange(node.layer, make_layer(param));
    if (!node.original) node.original = std::move(before);
  }

  /// Behind the layers that they read. Layers keep their order, and get other numbers.
  void put_poolings() {
    IdVector<NodeId, Node> nodes;
    IdVector<NodeId, NodeId> moved_to;
    for (const Node& node : graph_.nodes) layer_names_.insert(node.layer->name());
    for (const NodeId n : graph_.nodes.ids()) {
      const std::vector<VersionId> tops = graph_.nodes[n].tops;
      moved_to.push_back(nodes.push_back(std::move(graph_.nodes[n])));
      for (const VersionId top : tops) {
        const auto pick = std::ranges::find(picks_, top, &Pick::of);
        if (pick != picks_.end()) nodes.push_back(pooling(*pick));
      }
    }
    graph_.nodes = std::move(nodes);
    for (const NodeId n : graph_.nodes.ids()) connect(n);
    for (NodeId& sizer : graph_.sizers) sizer = moved_to[sizer];
  }

  /// What no layer and no blob is called. (Layers move while it is asked.)
  std::string free_name(std::string name) const {
    while (layer_names_.contains(name) || graph_.find(name)) name += '_';
    return name;
  }

  /// Reads what the sum has read, which reads its top instead.
  Node pooling(const Pick& pick) {
    const BlobVersion whole = graph_.versions[pick.of];
    Node& sum = graph_.nodes[whole.consumer];
    caffe::LayerParameter param;
    param.set_name(free_name(whole.name + "_strided"));
    param.set_type("Pooling");
    const caffe::LayerParameter& types = sum.layer->param();
    if (types.has_forward_type()) param.set_forward_type(types.forward_type());
    if (types.has_backward_type()) param.set_backward_type(types.backward_type());
    param.set_phase(graph_.def.param.state().phase());
    param.add_bottom(whole.name);
    param.add_top(param.name());
    auto& windows = *param.mutable_pooling_param();
    windows.set_pool(caffe::PoolingParameter::AVE);  // a maximum would lose what is no number
    windows.set_round_mode(caffe::PoolingParameter::FLOOR);
    windows.set_kernel_size(1);
    windows.set_stride(static_cast<uint32_t>(pick.stride));
    BlobVersion picked;
    picked.name = param.name();
    picked.varies = whole.varies;
    const VersionId top = graph_.versions.push_back(std::move(picked));
    sum.bottoms[static_cast<size_t>(whole.bottom)] = top;
    caffe::LayerParameter reads = sum.layer->param();
    reads.set_bottom(whole.bottom, param.name());
    replace(sum, reads);
    Node node;
    node.added = true;
    node.layer = make_layer(param);
    node.bottoms = {pick.of};
    node.tops = {top};
    node.where = sum.where;
    return node;
  }

  void connect(NodeId n) {
    const Node& node = graph_.nodes[n];
    for (size_t t = 0; t < node.tops.size(); ++t) {
      graph_.versions[node.tops[t]].producer = n;
      graph_.versions[node.tops[t]].top = static_cast<int>(t);
    }
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      graph_.versions[node.bottoms[b]].consumer = n;
      graph_.versions[node.bottoms[b]].bottom = static_cast<int>(b);
    }
  }

  Graph& graph_;
  std::vector<Pick> picks_;
  std::set<std::string> layer_names_;  ///< of the definition
  int64_t stride_ = 1;                 ///< that moves now
  size_t spatial_ = 0;                 ///< how many axes it has
  bool moved_ = false;
};

}  // namespace

void skip_unread_pixels(Graph& graph) { StrideMover(graph).run(); }

}  // namespace robusta
