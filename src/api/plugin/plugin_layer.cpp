// Translates between a plugin's layer, which knows vectors of numbers, and the engine's, which knows its own shapes and
// messages.

#include "api/plugin/plugin_layer.h"

#include "api/plugin/border.h"

namespace robusta::v1 {

PluginLayer::PluginLayer(const caffe::LayerParameter& param, const LayerFactory& factory)
    : robusta::Layer(param), fields_(this->param()), spec_(fields_), layer_(in_plugin([&] { return factory(spec_); })) {
  if (!layer_) throw plugin_error(str("it made no layer of type ", type()));
  fields_.check_all_used();
}

robusta::Arity PluginLayer::arity() const {
  const Arity own = in_plugin([&] { return layer_->arity(); });
  return {own.min_bottoms, own.max_bottoms, own.min_tops, own.max_tops, own.same_count};
}

std::vector<robusta::Shape> PluginLayer::infer_tops(const std::vector<robusta::Shape>& bottoms) {
  std::vector<v1::Shape> own;
  for (const robusta::Shape& bottom : bottoms) own.push_back(bottom.dims());
  std::vector<robusta::Shape> tops;
  for (v1::Shape& top : in_plugin([&] { return layer_->infer_tops(own); })) tops.emplace_back(std::move(top));
  if (static_cast<int>(tops.size()) != param().top_size()) {
    throw plugin_error(str("it gave ", tops.size(), " shapes for ", param().top_size(), " tops"));
  }
  for (const robusta::Shape& top : tops) check_extents(top);
  return tops;
}

std::vector<ParamDecl> PluginLayer::params() const {
  std::vector<ParamDecl> decls;
  for (ParameterDecl& own : in_plugin([&] { return layer_->parameters(); })) {
    const caffe::FillerParameter* filler = filler_at(param(), own.filler);
    if (!filler) {
      constants_.emplace_back().set_value(own.constant);
      filler = &constants_.back();
    }
    decls.push_back({robusta::Shape(std::move(own.shape)), filler, own.statistic});
    check_extents(decls.back().shape);
  }
  return decls;
}

bool PluginLayer::is_loss() const {
  return in_plugin([&] { return layer_->is_loss(); });
}

bool PluginLayer::allows_gradient(int bottom) const {
  return in_plugin([&] { return layer_->allows_gradient(bottom); });
}

bool PluginLayer::has_backward() const {
  return in_plugin([&] { return layer_->has_backward(); });
}

}  // namespace robusta::v1
