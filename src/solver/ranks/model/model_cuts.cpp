// A range covers the layers that its first one reaches through blobs, up to its last one.
#include "solver/ranks/model/model_cuts.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// What a prototxt asks of one layer.
struct Wish {
  uint32_t nodes = 0, parts = 1;
  std::string where = {};
  bool own = false;  ///< said by the layer itself
};

int layer_named(const NetDef& net, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (int i = 0; i < net.param.layer_size(); ++i) {
    if (net.param.layer(i).name() == name) return i;
    names.push_back(net.param.layer(i).name());
  }
  throw Error(ErrorKind::kConfig,
              str("model_parallel: the net that is trained has no layer \"", name, "\"", did_you_mean(name, names)),
              "name a layer of the TRAIN phase")
      .at(where);
}

/// The layers that `first` reaches through blobs, and itself, up to `last`; all of them where that is -1.
std::vector<int> reached(const caffe::NetParameter& net, int first, int last) {
  std::vector<int> layers;
  std::set<std::string> blobs;
  for (int i = first; i < net.layer_size() && (layers.empty() || layers.back() != last); ++i) {
    const caffe::LayerParameter& layer = net.layer(i);
    const bool reads = std::ranges::any_of(layer.bottom(), [&](const auto& blob) { return blobs.contains(blob); });
    if (i != first && !reads) continue;
    layers.push_back(i);
    blobs.insert(layer.top().begin(), layer.top().end());
  }
  return layers;
}

void apply_range(const NetDef& net, int index, std::vector<Wish>& wishes) {
  const auto& range = net.param.multinode().model_parallel(index);
  const std::string path = str("multinode.model_parallel[", index, "]"), where = net.where(path);
  if (!range.has_layer_from()) {
    throw Error(ErrorKind::kConfig, "model_parallel without layer_from", "name the first layer that is cut").at(where);
  }
  const int first = layer_named(net, range.layer_from(), net.where(path + ".layer_from"));
  const std::string to = net.where(path + ".layer_to");
  const int last = range.has_layer_to() ? layer_named(net, range.layer_to(), to) : -1;
  const std::vector<int> layers = reached(net.param, first, last);
  if (last >= 0 && layers.back() != last) {
    throw Error(ErrorKind::kConfig,
                str("model_parallel: layer_to \"", range.layer_to(), "\" is not reached from layer_from \"",
                    range.layer_from(), "\""),
                "name a layer that reads, by way of others, what layer_from puts out")
        .at(to);
  }
  for (const int i : layers) wishes[static_cast<size_t>(i)] = {range.num_nodes(), range.model_parts(), where};
}

std::vector<Wish> wishes_of(const NetDef& net) {
  std::vector<Wish> wishes(static_cast<size_t>(net.param.layer_size()));
  for (int i = 0; i < net.param.multinode().model_parallel_size(); ++i) apply_range(net, i, wishes);
  for (int i = 0; i < net.param.layer_size(); ++i) {
    if (!net.param.layer(i).has_multinode()) continue;
    const caffe::MultinodeLayerParameter& own = net.param.layer(i).multinode();
    wishes[static_cast<size_t>(i)] = {own.num_nodes(), own.model_parts(), net.source_of(i).where("multinode"), true};
  }
  return wishes;
}

int parts_of(const Wish& wish, const std::string& layer, int ranks) {
  const auto all = static_cast<uint32_t>(ranks);
  const auto fail = [&](ErrorKind kind, const std::string& cause, const std::string& fix) {
    throw Error(kind, cause, fix).in_layer(layer).at(wish.where);
  };
  if (wish.nodes != 0 && wish.nodes != all) {
    fail(ErrorKind::kUnsupported,
         str("num_nodes is ", wish.nodes, ", and ", ranks,
             " ranks train: all of them have "
             "a part in every layer here"),
         str("start ", wish.nodes, " ranks, or leave num_nodes out"));
  }
  if (wish.parts == 0 || wish.parts >= all) return ranks;
  if (all % wish.parts != 0) {
    fail(ErrorKind::kConfig, str("model_parts ", wish.parts, " does not divide the ", ranks, " ranks"),
         str("give a divisor of ", ranks, ", or 0 for as many parts as ranks"));
  }
  return static_cast<int>(wish.parts);
}

}  // namespace

std::string objection_to_cut(const caffe::LayerParameter& layer, int parts) {
  if (layer.type() == "InnerProduct") return "";
  if (layer.type() != "Convolution") return "only InnerProduct and Convolution are cut";
  if (layer.bottom_size() > 1) return "it has several bottoms";
  const uint32_t groups = layer.convolution_param().group();
  if (groups > 1 && groups % static_cast<uint32_t>(parts) != 0) {
    return str("its ", groups, " groups of channels cannot be dealt out to ", parts, " parts");
  }
  return "";
}

std::vector<ModelCut> model_cuts(const NetDef& net, int ranks) {
  std::vector<ModelCut> cuts;
  if (ranks == 1) return cuts;
  const std::vector<Wish> wishes = wishes_of(net);
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const Wish& wish = wishes[static_cast<size_t>(i)];
    if (wish.where.empty()) continue;
    const caffe::LayerParameter& layer = net.param.layer(i);
    const int parts = parts_of(wish, layer.name(), ranks);
    if (parts == 1) continue;
    const std::string why_not = objection_to_cut(layer, parts);
    if (why_not.empty()) {
      cuts.push_back({layer.name(), parts, wish.where});
    } else if (wish.own || layer.type() == "Convolution") {
      LOG_WARNING << wish.where << ": layer \"" << layer.name() << "\" (" << layer.type()
                  << "): model_parts changes nothing here, as " << why_not
                  << ": it is trained data parallel, with the same results";
    }
  }
  return cuts;
}

std::vector<int> layers_with_wishes(const NetDef& net) {
  std::vector<int> layers;
  const std::vector<Wish> wishes = wishes_of(net);
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].where.empty()) layers.push_back(static_cast<int>(i));
  }
  return layers;
}

}  // namespace robusta
