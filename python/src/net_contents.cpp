// Copies, one array at a time.

#include "net_contents.h"

#include <algorithm>

#include "robusta/error.h"

namespace robusta::python {
namespace {

/// False where there is nothing to read or write: a blob or a net without gradients.
template <typename Work>
bool where_there_is_one(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return false;
  }
}

bool has_parameter(const Net& net, const std::string& layer, int index) {
  const std::vector<LayerInfo> layers = net.layers();
  return std::ranges::any_of(layers, [&](const LayerInfo& one) { return one.name == layer && one.parameters > index; });
}

}  // namespace

NetContents NetContents::of(const Net& net, bool gradients) {
  NetContents found;
  for (const std::string& input : net.inputs()) found.inputs.push_back({input, net.shape(input)});
  found.position = net.position();
  for (const std::string& blob : net.blobs()) {
    found.blobs[blob] = net.read(blob);
    if (gradients) where_there_is_one([&] { found.gradients[blob] = net.read_gradient(blob); });
  }
  for (const ParameterInfo& param : net.parameters()) {
    found.parameters.push_back({param.layer, param.index, false, net.read_parameter(param.layer, param.index)});
    if (!gradients) continue;
    where_there_is_one([&] {
      found.parameters.push_back({param.layer, param.index, true, net.read_parameter_gradient(param.layer, param.index)});
    });
  }
  found.layers = layer_objects(net);
  return found;
}

std::vector<InputShape> NetContents::shapes_to_give(const Net& net) const {
  std::vector<InputShape> others;
  for (const InputShape& input : inputs) {
    if (net.shape(input.input) != input.shape) others.push_back(input);
  }
  return others;
}

void NetContents::write_to(Net& net, const Net* lender) const {
  net.seek(position);
  const auto fits = [&](const std::string& blob, const std::vector<float>& values) {
    return net.has_blob(blob) && count(net.shape(blob)) == static_cast<int64_t>(values.size());
  };
  for (const auto& [blob, values] : blobs) {
    if (fits(blob, values)) net.write(blob, values);
  }
  for (const auto& one : gradients) {
    if (fits(one.first, one.second)) where_there_is_one([&] { net.write_gradient(one.first, one.second); });
  }
  for (const Parameter& param : parameters) {
    if (lender && has_parameter(*lender, param.layer, param.index)) continue;
    where_there_is_one([&] {
      param.is_gradient ? net.write_parameter_gradient(param.layer, param.index, param.values)
                        : net.write_parameter(param.layer, param.index, param.values);
    });
  }
}

}  // namespace robusta::python
