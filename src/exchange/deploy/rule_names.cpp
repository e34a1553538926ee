// Names: readers join the two files by those of layers, and find outputs by those of blobs.

#include <algorithm>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"

namespace robusta::deploy {
namespace {

/// Types whose outputs MNN calls like the layer.
bool is_called_like_its_layer(const std::string& type) { return type == "Power" || type == "Exp"; }

}  // namespace

std::optional<Finding> check_one_name(const DeployNet& net, int layer) {
  for (int i = 0; i < layer; ++i) {
    if (net.param(i).name() == net.param(layer).name()) {
      return Finding{str("a layer before it has the same name"), "name"};
    }
  }
  return std::nullopt;
}

void mend_one_name(DeployNet& net, int layer) {
  net.param(layer).set_name(net.free_layer_name(net.param(layer).name()));
  net.change();
}

std::optional<Finding> check_last_layer(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.bottom_size() == 0 || param.top_size() == 0 || !net.is_output(param.top(0))) return std::nullopt;
  if (net.names.at(param.bottom(0)) == net.names.at(param.top(0))) {
    return Finding{str("the net's output ", net.names.at(param.top(0)), " is written in place"), "top"};
  }
  if (param.type() == "Dropout") return Finding{"the net ends with a Dropout", "type"};
  if (is_called_like_its_layer(param.type()) && param.name() != net.names.at(param.top(0))) {
    return Finding{
        str("the net's output ", net.names.at(param.top(0)), " is that of a ", param.type(), " of another name"),
        "name"};
  }
  return std::nullopt;
}

/// The layer is called like its top; who has that name gets the layer's, and its weights go with it.
void name_like_top(DeployNet& net, int layer) {
  const std::string name = net.param(layer).name(), top = net.names.at(net.param(layer).top(0));
  for (int i = 0; i < net.size(); ++i) {
    if (net.param(i).name() == top) net.param(i).set_name(name);
  }
  net.param(layer).set_name(top);
}

void mend_last_layer(DeployNet& net, int layer) {
  caffe::LayerParameter& param = net.param(layer);
  if (param.type() == "Dropout") {
    param.clear_dropout_param();
    param.set_type("Power");  // the identity
  }
  const std::string bottom = param.bottom(0);
  if (net.names.at(bottom) == net.names.at(param.top(0))) {
    // What worked in place before this keeps doing so, under another name.
    const std::string old = net.names.at(bottom),
                      between = net.new_blob(net.free_name(str(old, "_before_", param.name())));
    net.names.erase(between);
    if (net.param(net.producer(bottom)).type() == "Input") net.names[param.top(0)] = str(old, '_', param.name());
    for (std::string blob = bottom; net.names.at(blob) == old;) {
      const caffe::LayerParameter& before = net.param(net.producer(blob));
      if (before.type() == "Input") break;  // whoever feeds the net knows it by its name
      net.names[blob] = between;
      if (before.bottom_size() == 0) break;
      blob = before.bottom(0);
    }
  }
  if (is_called_like_its_layer(param.type())) name_like_top(net, layer);
  net.change();
}

}  // namespace robusta::deploy
