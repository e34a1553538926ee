// Translates between a plugin's layer, which knows vectors of numbers, and the engine's, which knows its own shapes and
// messages.

#include "api/plugin/plugin_layer.h"

#include "base/str.h"

namespace robusta::v1 {

PluginLayer::PluginLayer(const caffe::LayerParameter& param, const LayerFactory& factory)
    : robusta::Layer(param), fields_(this->param()), spec_(fields_), layer_(factory(spec_)) {
  if (!layer_) throw Error(ErrorKind::kInternal, str("the plugin made no layer of type ", type()));
  fields_.check_all_used();
}

robusta::Arity PluginLayer::arity() const {
  const Arity own = layer_->arity();
  return {own.min_bottoms, own.max_bottoms, own.min_tops, own.max_tops, own.same_count};
}

std::vector<robusta::Shape> PluginLayer::infer_tops(const std::vector<robusta::Shape>& bottoms) {
  std::vector<v1::Shape> own;
  for (const robusta::Shape& bottom : bottoms) own.push_back(bottom.dims());
  std::vector<robusta::Shape> tops;
  for (v1::Shape& top : layer_->infer_tops(own)) tops.emplace_back(std::move(top));
  if (static_cast<int>(tops.size()) != param().top_size()) {
    throw Error(ErrorKind::kInternal,
                str("the plugin gave ", tops.size(), " shapes for ", param().top_size(), " tops"));
  }
  for (const robusta::Shape& top : tops) check_extents(top);
  return tops;
}

std::vector<ParamDecl> PluginLayer::params() const {
  std::vector<ParamDecl> decls;
  for (ParameterDecl& own : layer_->parameters()) {
    const caffe::FillerParameter* filler = filler_at(param(), own.filler);
    if (!filler) {
      constants_.emplace_back().set_value(own.constant);
      filler = &constants_.back();
    }
    decls.push_back({robusta::Shape(std::move(own.shape)), filler, own.statistic});
  }
  return decls;
}

}  // namespace robusta::v1
