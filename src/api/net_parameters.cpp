// Parameters and the structure of a public Net.

#include "api/devices.h"
#include "api/net_impl.h"
#include "base/str.h"

namespace robusta::v1 {
namespace {

void require_count(const Param& param, size_t numbers) {
  if (static_cast<int64_t>(numbers) == param.desc.count()) return;
  throw Error(ErrorKind::kUsage, str(numbers, " numbers for a parameter of shape ", param.desc.shape.str()))
      .in_layer(param.layer);
}

void require_gradient(const Param& param) {
  if (param.diff) return;
  throw Error(ErrorKind::kUsage, "the net was built without backward: there are no gradients",
              "set NetOptions::backward")
      .in_layer(param.layer);
}

TensorView host_view(const robusta::Net& net, const Param& param, void* memory) {
  if (net.options().device->is_host()) return plain_view(memory, outside(param.desc.dtype), param.desc.shape.dims());
  throw Error(ErrorKind::kUnsupported, "the parameter lies in a GPU's memory",
              "copy it: read_parameter, write_parameter")
      .in_layer(param.layer);
}

}  // namespace

std::vector<LayerInfo> Net::layers() const {
  const Graph& graph = impl_->net->graph();
  std::vector<LayerInfo> infos;
  for (const Node& node : graph.nodes) {
    if (node.added) continue;
    const caffe::LayerParameter& param = node.written();
    infos.push_back({param.name(),
                     param.type(),
                     {param.bottom().begin(), param.bottom().end()},
                     {param.top().begin(), param.top().end()},
                     static_cast<int>(node.params.size())});
  }
  return infos;
}

std::vector<std::string> Net::blobs() const {
  std::vector<std::string> names;
  const Graph& graph = impl_->net->graph();
  for (const BlobVersion& version : graph.versions) {
    if (!version.hidden_by_later && !graph.nodes[version.producer].added) names.push_back(version.name);
  }
  return names;
}

std::vector<std::string> Net::inputs() const {
  const Graph& graph = impl_->net->graph();
  std::vector<std::string> names;
  for (const VersionId input : graph.inputs()) names.push_back(graph.versions[input].name);
  return names;
}

std::vector<ParameterInfo> Net::parameters() const {
  std::vector<ParameterInfo> infos;
  for (const ParamPtr& param : impl_->net->params()) {
    infos.push_back({.layer = param->layer,
                     .index = param->index,
                     .name = param->display_name,
                     .shape = param->desc.shape.dims(),
                     .lr_mult = param->lr_mult,
                     .decay_mult = param->decay_mult,
                     .learns = param->learns});
  }
  return infos;
}

Shape Net::parameter_shape(const std::string& layer, int index) const {
  return impl_->param(layer, index).desc.shape.dims();
}

std::vector<float> Net::read_parameter(const std::string& layer, int index) const {
  return impl_->net->blobs().read_param(impl_->param(layer, index));
}

void Net::write_parameter(const std::string& layer, int index, std::span<const float> numbers) {
  Param& param = impl_->param(layer, index);
  require_count(param, numbers.size());
  impl_->net->blobs().write_param(param, {numbers.begin(), numbers.end()});
}

std::vector<float> Net::read_parameter_gradient(const std::string& layer, int index) const {
  const Param& param = impl_->param(layer, index);
  require_gradient(param);
  return impl_->net->blobs().read_param_diff(param);
}

void Net::write_parameter_gradient(const std::string& layer, int index, std::span<const float> numbers) {
  Param& param = impl_->param(layer, index);
  require_gradient(param);
  require_count(param, numbers.size());
  impl_->net->blobs().write_param_diff(param, {numbers.begin(), numbers.end()});
}

TensorView Net::parameter_view(const std::string& layer, int index) {
  Param& param = impl_->param(layer, index);
  const TensorView view = host_view(*impl_->net, param, param.data);
  param.exposed = true;
  return view;
}

TensorView Net::parameter_gradient_view(const std::string& layer, int index) {
  Param& param = impl_->param(layer, index);
  require_gradient(param);
  return host_view(*impl_->net, param, param.diff);
}

}  // namespace robusta::v1
