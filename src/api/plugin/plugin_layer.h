/// A layer of a plugin as the engine sees it.
#pragma once

#include <list>
#include <memory>

#include "api/plugin/spec.h"
#include "layers/kit/layer.h"

namespace robusta::v1 {

class PluginLayer : public robusta::Layer {
 public:
  /// Throws what the factory throws, and Error{kConfig} for fields that it does not know.
  PluginLayer(const caffe::LayerParameter& param, const LayerFactory& factory);

  robusta::Arity arity() const override;
  std::vector<robusta::Shape> infer_tops(const std::vector<robusta::Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  bool is_loss() const override;
  bool allows_gradient(int bottom) const override;
  bool has_backward() const override;

  /// The plugin's own object.
  v1::Layer& own() const { return *layer_; }

 private:
  LayerSpec::Impl fields_;
  LayerSpec spec_;  ///< the layer may keep a reference to it
  std::unique_ptr<v1::Layer> layer_;
  mutable std::list<caffe::FillerParameter> constants_;  ///< for parameters without a filler in the prototxt
};

}  // namespace robusta::v1
