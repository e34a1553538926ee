// What is refused here is refused before any stage is built.
#include "solver/pipeline/cut_nets.h"

#include <algorithm>

namespace robusta {

void CutNet::add_gradients(size_t stage, NetOptions& options) const {
  for (const Crossing& crossing : pieces.crossings) {
    if (!crossing.gradient) continue;
    if (static_cast<size_t>(crossing.from) == stage) options.seed_diffs.push_back(crossing.blob);
    if (static_cast<size_t>(crossing.to) == stage) options.input_diffs.push_back(crossing.blob);
  }
}

CutNets cut_nets(const WholeNet& train, const std::vector<WholeNet>& tests, int stages, StagesAre where) {
  const auto cut = [stages](const WholeNet& net, std::vector<int> placement) {
    CutNet made{.pieces = cut_into_stages(net.def, net.net.graph(), placement, stages), .placement = {}};
    made.placement = std::move(placement);
    return made;
  };
  std::vector<int> trained = place_layers(train.def, stages, where);
  require_all_stages(train.def, trained, stages, where);
  CutNets nets{.train = cut(train, std::move(trained)), .tests = {}};
  for (const WholeNet& test : tests) {
    std::vector<int> tested = place_layers(test.def, stages, where);
    require_same_places(train.def, nets.train.placement, test.def, tested);
    nets.tests.push_back(cut(test, std::move(tested)));
  }
  return nets;
}

std::string layers_of(const StageNets& pieces, size_t stage) {
  std::string first, last;
  for (const caffe::LayerParameter& layer : pieces.nets[stage].param.layer()) {
    if (std::ranges::count(pieces.inputs[stage], layer.name()) > 0) continue;
    if (first.empty()) first = layer.name();
    last = layer.name();
  }
  return first == last ? first : first + " to " + last;
}

}  // namespace robusta
