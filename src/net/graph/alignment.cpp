// The way back from each blob to the common one composes the maps of the layers on it: both then have a place for every
// pixel in that blob, and the places of b's first pixels are looked up in a.

#include "net/graph/alignment.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

Error cannot_align(const std::string& cause) {
  return Error(ErrorKind::kConfig, cause, "write a Crop layer with the offset that is meant").in_field("bottom");
}

VersionId before(const Graph& graph, VersionId version) {
  const Node& producer = graph.nodes[graph.versions[version].producer];
  return producer.bottoms.empty() ? VersionId::none() : producer.bottoms[0];
}

/// What the net's file calls the blob: a Split's tops are its bottom.
const std::string& name_of(const Graph& graph, VersionId version) {
  const BlobVersion& blob = graph.versions[version];
  const Node& producer = graph.nodes[blob.producer];
  return producer.layer->repeats_bottom() ? name_of(graph, producer.bottoms[0]) : blob.name;
}

/// The version itself, what it comes from, and so on.
std::vector<VersionId> way_back(const Graph& graph, VersionId version) {
  std::vector<VersionId> way;
  for (VersionId v = version; v; v = before(graph, v)) way.push_back(v);
  return way;
}

/// Where the pixels of `version` lie in `ancestor`.
std::vector<AxisMap> map_to(const Graph& graph, VersionId version, VersionId ancestor) {
  const Shape& shape = graph.versions[version].shape;
  std::vector<AxisMap> whole(static_cast<size_t>(std::max(shape.axes() - 2, 0)));
  for (VersionId v = version; v != ancestor; v = before(graph, v)) {
    const BlobVersion& top = graph.versions[v];
    const Layer& layer = *graph.nodes[top.producer].layer;
    const auto maps = layer.alignment(graph.versions[before(graph, v)].shape, top.shape);
    if (!maps || maps->size() != whole.size()) {
      throw cannot_align(str("the pixels of blob \"", top.name, "\" have no places in the bottom of layer \"",
                             layer.name(), "\" (", layer.type(), ")"));
    }
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      const AxisMap& map = (*maps)[axis];
      whole[axis] = {map.scale * whole[axis].scale, map.scale * whole[axis].shift + map.shift};
    }
  }
  return whole;
}

}  // namespace

std::vector<int64_t> offsets_between(const Graph& graph, VersionId a, VersionId b) {
  const std::string &name_a = name_of(graph, a), &name_b = name_of(graph, b);
  const std::vector<VersionId> of_a = way_back(graph, a), of_b = way_back(graph, b);
  const auto common = std::find_first_of(of_b.begin(), of_b.end(), of_a.begin(), of_a.end());
  if (common == of_b.end()) {
    throw cannot_align(str("blobs \"", name_a, "\" and \"", name_b, "\" do not come from one blob"));
  }
  const std::vector<AxisMap> in_a = map_to(graph, a, *common), in_b = map_to(graph, b, *common);
  std::vector<int64_t> offsets;
  for (size_t axis = 0; axis < std::min(in_a.size(), in_b.size()); ++axis) {
    constexpr double kNear = 1e-6;
    const double scale = in_b[axis].scale / in_a[axis].scale;
    const double offset = (in_b[axis].shift - in_a[axis].shift) / in_a[axis].scale;
    if (std::abs(scale - 1) > kNear || std::abs(offset - std::round(offset)) > kNear || offset < -kNear) {
      throw cannot_align(str("along axis ", axis + 2, " pixel i of blob \"", name_b, "\" lies at ", scale, " i + ",
                             offset, " of blob \"", name_a, "\": that is no part of it"));
    }
    offsets.push_back(static_cast<int64_t>(std::round(offset)));
  }
  return offsets;
}

}  // namespace robusta
