// Layer i of the definition is node i of the graph; a parameter is where the layer is that owns it.
#include "solver/pipeline/ranks/param_places.h"

#include <map>
#include <string>

namespace robusta {

std::vector<ParamPlace> param_places(const Net& whole, const std::vector<int>& placement, size_t stages) {
  std::map<std::string, size_t> stage_of_layer;
  for (const NodeId n : whole.graph().nodes.ids()) {
    stage_of_layer[whole.graph().nodes[n].layer->name()] = static_cast<size_t>(placement[n.index()]);
  }
  std::vector<size_t> counts(stages);
  std::vector<ParamPlace> places;
  for (const ParamId p : whole.params().ids()) {
    const size_t stage = stage_of_layer.at(whole.params()[p]->layer);
    places.push_back({p, stage, ParamId(counts[stage]++)});
  }
  return places;
}

}  // namespace robusta
