// The net is asked once, when the buckets are planned.

#include "solver/ranks/sums/compressed_params.h"

#include <algorithm>

#include "base/log.h"
#include "comm/all_reduce.h"

namespace robusta {
namespace {

bool is_listed(const caffe::LayerParameter& layer, const caffe::NetParameter& net, size_t index) {
  if (layer.has_mn_grad_compress_param()) {
    const auto& words = layer.mn_grad_compress_param().param_grad_compress_enable();
    return index < static_cast<size_t>(words.size()) && words[static_cast<int>(index)];
  }
  const auto& types = net.multinode().compress_layer_type_list().layer_type();
  return index == 0 && std::ranges::find(types, layer.type()) != types.end();
}

}  // namespace

CompressedParams compressed_params(const DdlOptions& options, const Net& net) {
  CompressedParams found{.options = options};
  if (options.wire.compress != Compression::kNone) return found;
  found.all = false;
  for (const Node& node : net.graph().nodes) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      if (is_listed(node.layer->param(), net.graph().def.param, i)) found.listed.insert(node.params[i].get());
    }
  }
  if (found.listed.empty()) return found;
  if (sums_by_dimension(options.mode)) {
    found.options.wire = {Compression::kInt8};
  } else {
    LOG_WARNING << "The net names gradients to be compressed, which this -mode does not: they are summed as they are";
    found.listed.clear();
  }
  return found;
}

}  // namespace robusta
