/// Layers of type "Python" as the engine sees them (robusta/host_layer.h).
///
/// A layer with bottoms computes before the step that it has in the plan, as soon as its bottoms are there
/// (kit/sized_by_bottoms.h): its code may give its tops other sizes, which the rest of the pass is then planned for.
/// Its step copies what it has computed. Parameters are at hand in the step alone, so that a layer which has some
/// computes there, and its tops keep the sizes that its reshape gives them. A layer without bottoms or parameters is a
/// source.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "layers/kit/sized_by_bottoms.h"
#include "layers/kit/source_layer.h"
#include "robusta/host_layer.h"

namespace robusta::v1 {

/// Throws Error{kConfig} where the layer's code has given a top another shape than is planned, or as many tops.
void require_planned(std::span<const TensorView> made, std::span<const Tensor> planned);

/// What has code of its own behind it.
class HasHostLayer {
 public:
  virtual ~HasHostLayer() = default;
  const std::shared_ptr<HostLayer>& own() const { return own_; }

 protected:
  explicit HasHostLayer(std::shared_ptr<HostLayer> own) : own_(std::move(own)) {}
  /// Throws Error{kConfig} where a top has no shape yet, or one that no blob can have.
  std::vector<robusta::Shape> top_shapes() const;
  /// Throws Error{kConfig} for other numbers of tops than the prototxt names.
  void require_tops(int named) const;

  std::shared_ptr<HostLayer> own_;
};

/// One with bottoms, or parameters.
class HostNode : public robusta::Layer, public HasHostLayer, public SizedByBottoms {
 public:
  HostNode(const caffe::LayerParameter& param, std::shared_ptr<HostLayer> own);

  robusta::Arity arity() const override { return {0, -1, 0, -1}; }
  std::vector<robusta::Shape> infer_tops(const std::vector<robusta::Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;

  int sizing_bottom() const override;
  std::vector<int> sizing_bottoms() const override;
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  /// Runs forward in its step, where that has not been done before it.
  std::vector<TensorView> tops_of(const HostCall& call) const;
  /// True: size_by_bottoms runs forward.
  bool computes_early() const { return parameters_ == 0 && !shapes_.empty(); }

 private:
  std::vector<v1::Shape> shapes_, planned_;  ///< of bottoms, and of tops
  bool told_ = false;                        ///< shapes_ are those that the layer has been reshaped for
  size_t parameters_ = 0;
  std::vector<TensorView> tops_;  ///< of the last forward
  mutable std::list<std::vector<float>> initial_;
};

/// One without.
class HostSource : public robusta::SourceLayer, public HasHostLayer {
 public:
  HostSource(const caffe::LayerParameter& param, std::shared_ptr<HostLayer> own);

  robusta::Arity arity() const override { return {0, 0, 1, -1}; }
  std::vector<robusta::Shape> infer_tops(const std::vector<robusta::Shape>&) override;
  bool prepare(const Pass& pass) override;
  void fill(std::span<const Tensor> tops, const Pass& pass) override;
  void set_batch(int64_t batch) override;

 private:
  std::vector<v1::Shape> planned_;  ///< of tops
  std::vector<TensorView> tops_;
};

}  // namespace robusta::v1
