// The registry of layer types. Filled by static initialisers of the layers' files; read only afterwards, so that
// threads need no lock.

#include "layers/kit/layer.h"

#include <map>

#include "base/nearest.h"
#include "schema/known_names.h"

namespace robusta {
namespace {

std::map<std::string, LayerFactory>& factories() {
  static std::map<std::string, LayerFactory> layers;
  return layers;
}

}  // namespace

bool register_layer(const std::string& type, LayerFactory factory) { return factories().emplace(type, factory).second; }

std::vector<std::string> layer_types() {
  std::vector<std::string> types;
  for (const auto& [type, factory] : factories()) types.push_back(type);
  return types;
}

std::unique_ptr<Layer> make_layer(const caffe::LayerParameter& param) {
  const auto found = factories().find(param.type());
  if (found != factories().end()) return found->second(param);
  if (const auto whose = who_knows_layer(param.type())) {
    throw not_in_this_build("layer type \"" + param.type() + "\"", *whose, "").in_field("type");
  }
  std::string known;
  for (const std::string& type : layer_types()) known += (known.empty() ? "" : ", ") + type;
  throw Error(ErrorKind::kConfig,
              "unknown layer type \"" + param.type() + "\"" + did_you_mean(param.type(), layer_types()),
              "known types: " + known)
      .in_field("type");
}

}  // namespace robusta
