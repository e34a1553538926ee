// The register of layer types: filled by static initialisers of the layers' files, in any order, and later by plugins,
// while other threads may build nets.

#include "layers/kit/layer.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/nearest.h"
#include "layers/kit/known_layers.h"
#include "schema/absent_fields.h"
#include "schema/known_names.h"

namespace robusta {
namespace {

struct LayerRegister {
  std::shared_mutex mutex;
  std::map<std::string, LayerFactory> factories;
  std::map<std::string, LayerLook> looks;
};

LayerRegister& layers() {
  static LayerRegister made;
  return made;
}

/// Null when nobody has registered the type.
LayerFactory factory_of(const std::string& type) {
  const std::shared_lock lock(layers().mutex);
  const auto found = layers().factories.find(type);
  return found == layers().factories.end() ? nullptr : found->second;
}

LayerLook look_of(const std::string& type) {
  const std::shared_lock lock(layers().mutex);
  const auto found = layers().looks.find(type);
  return found == layers().looks.end() ? nullptr : found->second;
}

}  // namespace

std::optional<std::vector<AxisMap>> Layer::alignment(const Shape& bottom, const Shape& top) const {
  if (bottom.axes() < 3 || bottom.axes() != top.axes()) return std::nullopt;
  if (bottom.slice(2, bottom.axes()) != top.slice(2, top.axes())) return std::nullopt;
  return std::vector<AxisMap>(static_cast<size_t>(bottom.axes()) - 2);
}

bool register_layer(const std::string& type, LayerFactory factory) {
  const std::unique_lock lock(layers().mutex);
  return layers().factories.emplace(type, factory).second;
}

bool register_look(const std::string& type, LayerLook look) {
  const std::unique_lock lock(layers().mutex);
  return layers().looks.emplace(type, look).second;
}

std::vector<std::string> layer_types() {
  const std::shared_lock lock(layers().mutex);
  std::vector<std::string> types;
  for (const auto& [type, factory] : layers().factories) types.push_back(type);
  return types;
}

namespace {

Error missing_type(const std::string& type) {
  if (const auto whose = who_knows_layer(type)) {
    return not_in_this_build("layer type \"" + type + "\"", *whose, way_round_layer(type)).in_field("type");
  }
  std::string known;
  for (const std::string& one : layer_types()) known += (known.empty() ? "" : ", ") + one;
  return Error(ErrorKind::kConfig, "unknown layer type \"" + type + "\"" + did_you_mean(type, layer_types()),
               "known types: " + known)
      .in_field("type");
}

}  // namespace

std::vector<Error> missing_in(const caffe::LayerParameter& param) {
  if (!factory_of(param.type())) return {missing_type(param.type())};
  std::vector<Error> missing = absent_fields_in(param);
  const LayerLook look = look_of(param.type());
  try {
    if (look) look(param);
  } catch (const Error& error) {
    missing.push_back(error);
  }
  return missing;
}

std::unique_ptr<Layer> make_layer(const caffe::LayerParameter& param) {
  for (const Error& error : missing_in(param)) throw error;  // the first
  return factory_of(param.type())(param);
}

}  // namespace robusta
