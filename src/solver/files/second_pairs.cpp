// Layers are found by the names that file and net share, the Scale layer by what reads the BatchNorm's top.

#include "solver/files/second_pairs.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace robusta {
namespace {

constexpr size_t kStatistics = 3;  // mean, variance, factor

/// The Scale layer of two parameters that alone reads the top of BatchNorm `node`, or null.
const Node* pair_behind(const Graph& graph, const Node& node) {
  if (node.layer->param().type() != "BatchNorm" || node.params.size() != kStatistics) return nullptr;
  const NodeId reader = graph.versions[node.tops[0]].consumer;
  if (!reader) return nullptr;
  const Node& next = graph.nodes[reader];
  return next.layer->param().type() == "Scale" && next.params.size() == 2 ? &next : nullptr;
}

LayerWeights* find_layer(WeightsFile& file, const std::string& name) {
  const auto found = std::find_if(file.layers.begin(), file.layers.end(),
                                  [&](const LayerWeights& layer) { return layer.name == name; });
  return found == file.layers.end() ? nullptr : &*found;
}

bool are_alike(const std::vector<BlobData>& pair, const std::vector<BlobData>& own) {
  return own.size() == 2 && std::all_of(own.begin(), own.end(), [&](const BlobData& blob) {
           return blob.data.size() == pair[0].data.size() && blob.data.size() == pair[1].data.size();
         });
}

/// `own` after `first`.
void compose(const std::vector<BlobData>& first, std::vector<BlobData>& own) {
  for (size_t c = 0; c < own[0].data.size(); ++c) {
    own[1].data[c] += own[0].data[c] * first[1].data[c];
    own[0].data[c] *= first[0].data[c];
  }
}

void move_pair(WeightsFile& file, size_t at, const std::string& to) {
  std::vector<BlobData>& blobs = file.layers[at].blobs;
  std::vector<BlobData> pair(std::make_move_iterator(blobs.begin() + kStatistics),
                             std::make_move_iterator(blobs.end()));
  blobs.resize(kStatistics);
  LayerWeights* own = find_layer(file, to);
  if (!own) {
    file.layers.push_back({to, "Scale", std::move(pair)});
  } else if (own->blobs.empty()) {
    own->blobs = std::move(pair);
  } else if (are_alike(pair, own->blobs)) {
    compose(pair, own->blobs);
  }
}

}  // namespace

std::optional<WeightsFile> with_moved_pairs(const WeightsFile& file, const Net& net) {
  std::optional<WeightsFile> result;
  const Graph& graph = net.graph();
  for (const Node& node : graph.nodes) {
    const Node* scale = pair_behind(graph, node);
    if (!scale) continue;
    for (size_t i = 0; i < file.layers.size(); ++i) {
      const LayerWeights& layer = file.layers[i];
      if (layer.name != node.layer->name() || layer.blobs.size() != kStatistics + 2) continue;
      if (!result) result = file;
      move_pair(*result, i, scale->layer->name());
    }
  }
  return result;
}

}  // namespace robusta
