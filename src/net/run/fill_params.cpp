// Values are made on the host, in the parameter's own type, and copied to where parameters are, if that is elsewhere.

#include "net/run/fill_params.h"

#include "base/philox.h"
#include "layers/kit/filler.h"
#include "net/run/arrays.h"

namespace robusta {
namespace {

void fill_param(const Param& param, const caffe::FillerParameter& filler, uint64_t seed, const Device& device,
                Stream& stream) {
  PhiloxStream random(random_key(seed, param.layer, "filler"), static_cast<uint64_t>(param.index));
  if (device.is_host()) return fill(filler, param.desc.shape, random, param.desc.dtype, param.data);
  std::vector<char> host(param.desc.bytes());
  fill(filler, param.desc.shape, random, param.desc.dtype, host.data());
  store_array(stream, param.tensor(), host.data());
}

}  // namespace

void fill_params(const Graph& graph, uint64_t seed, const Device& device, Stream& stream) {
  for (const ParamId p : graph.params.ids()) {
    const Param& param = *graph.params[p];
    const std::span<const float> given = graph.given_values[p];
    if (!given.empty() && graph.filled_here[p]) write_array(stream, param.tensor(), {given.begin(), given.end()});
    if (!graph.filled_here[p] || !graph.fillers[p]) continue;
    try {
      fill_param(param, *graph.fillers[p], seed, device, stream);
    } catch (Error& error) {
      for (const Node& node : graph.nodes) {
        if (node.layer->name() == param.layer) rethrow_at(std::move(error), param.layer, node.where);
      }
      throw;
    }
  }
}

}  // namespace robusta
