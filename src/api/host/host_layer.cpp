// When the code of such a layer is called, and what it may answer.

#include "api/host/host_layer.h"

#include <algorithm>

#include "api/host/element_types.h"
#include "base/str.h"

namespace robusta::v1 {
namespace {

std::vector<v1::Shape> dims_of(const std::vector<robusta::Shape>& shapes) {
  std::vector<v1::Shape> dims;
  for (const robusta::Shape& shape : shapes) dims.push_back(shape.dims());
  return dims;
}

}  // namespace

HostLayer::~HostLayer() = default;

void require_planned(std::span<const TensorView> made, std::span<const Tensor> planned) {
  if (made.size() != planned.size()) {
    throw Error(ErrorKind::kConfig, str("the layer has made ", made.size(), " tops of ", planned.size()));
  }
  for (size_t i = 0; i < made.size(); ++i) {
    const robusta::Shape shape(made[i].shape);
    if (shape == planned[i].shape()) continue;
    throw Error(ErrorKind::kConfig,
                str("top ", i, " has become ", shape.str(), " where ", planned[i].shape().str(), " is planned"),
                "give tops their shapes in reshape(), or, in a layer without parameters, in forward()");
  }
}

std::vector<robusta::Shape> HasHostLayer::top_shapes() const {
  std::vector<robusta::Shape> shapes;
  for (v1::Shape& top : own_->tops()) {
    shapes.emplace_back(std::move(top));
    check_extents(shapes.back());
  }
  return shapes;
}

void HasHostLayer::require_tops(int named) const {
  const size_t made = own_->tops().size();
  if (made == static_cast<size_t>(named)) return;
  throw Error(ErrorKind::kConfig, str("the layer has ", made, " tops, and the prototxt names ", named));
}

HostNode::HostNode(const caffe::LayerParameter& param, std::shared_ptr<HostLayer> own)
    : robusta::Layer(param), HasHostLayer(std::move(own)) {}

std::vector<robusta::Shape> HostNode::infer_tops(const std::vector<robusta::Shape>& bottoms) {
  std::vector<v1::Shape> shapes = dims_of(bottoms);
  if (!told_ || shapes != shapes_) {
    told_ = false;
    own_->reshape(shapes);
    shapes_ = std::move(shapes);
    told_ = true;
    tops_.clear();
    parameters_ = own_->parameters().size();
  }
  require_tops(param().top_size());
  std::vector<robusta::Shape> tops = top_shapes();
  planned_ = dims_of(tops);
  return tops;
}

std::vector<ParamDecl> HostNode::params() const {
  std::vector<ParamDecl> decls;
  for (const TensorView& own : own_->parameters()) {
    const std::span<const float> values = own.elements<float>();
    initial_.emplace_back(values.begin(), values.end());
    decls.push_back({.shape = robusta::Shape(own.shape), .values = initial_.back()});
    check_extents(decls.back().shape);
  }
  return decls;
}

int HostNode::sizing_bottom() const { return computes_early() ? static_cast<int>(shapes_.size()) - 1 : -1; }

std::vector<int> HostNode::sizing_bottoms() const {
  std::vector<int> all;
  for (int bottom = 0; bottom < static_cast<int>(shapes_.size()); ++bottom) all.push_back(bottom);
  return all;
}

void HostNode::size_by_bottoms(std::span<const std::vector<float>> values) {
  std::vector<TensorView> bottoms;
  for (size_t i = 0; i < values.size(); ++i) {
    bottoms.push_back(plain_view(const_cast<float*>(values[i].data()), DType::kF32, shapes_[i]));
  }
  own_->reshape(shapes_);
  tops_ = own_->forward({.bottoms = bottoms});
}

std::vector<TensorView> HostNode::tops_of(const HostCall& call) const {
  if (computes_early()) return tops_;
  const auto require_planned_shapes = [&] {
    if (own_->tops() == planned_) return;
    throw Error(ErrorKind::kConfig, "the layer has parameters, and gives a top another shape in the middle of a pass",
                "layers with parameters give tops the shapes that their bottoms' shapes say");
  };
  own_->reshape(shapes_);
  require_planned_shapes();
  std::vector<TensorView> tops = own_->forward(call);
  require_planned_shapes();
  return tops;
}

HostSource::HostSource(const caffe::LayerParameter& param, std::shared_ptr<HostLayer> own)
    : robusta::SourceLayer(param), HasHostLayer(std::move(own)) {}

std::vector<robusta::Shape> HostSource::infer_tops(const std::vector<robusta::Shape>&) {
  require_tops(param().top_size());
  std::vector<robusta::Shape> tops = top_shapes();
  planned_ = dims_of(tops);
  return tops;
}

/// The code may change its tops' shapes in a call that fails, and in between: what counts is what the net has planned.
bool HostSource::prepare(const Pass&) {
  own_->reshape({});
  tops_ = own_->forward({});
  return own_->tops() != planned_;
}

void HostSource::fill(std::span<const Tensor> tops, const Pass&) {
  require_planned(tops_, tops);
  for (size_t i = 0; i < tops.size(); ++i) from_floats(tops_[i].elements<float>(), tops[i]);
}

void HostSource::set_batch(int64_t) {
  throw Error(ErrorKind::kUnsupported, "the code of a layer of type Python decides over the size of its batches",
              "leave -batch out, or give the size by param_str");
}

}  // namespace robusta::v1
