// Works on the newest form of a file's layers; what is asked for and not there is an error before anything is written.

#include "inspect/surgery.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/counted.h"
#include "base/excerpt.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "net/net.h"
#include "robusta/error.h"
#include "schema/read_text.h"
#include "solver/files/model_format.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

std::string quoted_name(const std::string& name) { return "\"" + excerpt(name) + "\""; }

/// Renames in weights that were read: by what stands for a layer, its name.
using LayerList = std::vector<LayerWeights>;

std::vector<std::string> names_of(const LayerList& layers) {
  std::vector<std::string> names;
  for (const LayerWeights& layer : layers) names.push_back(layer.name);
  return names;
}

[[noreturn]] void refuse_missing(const std::string& name, const LayerList& layers, const std::string& path) {
  throw Error(ErrorKind::kUsage, str(path, " has no layer ", quoted_name(name), did_you_mean(name, names_of(layers))),
              "caffe summary and caffe diff show the names of layers");
}

LayerList::iterator find_layer(LayerList& layers, const std::string& name) {
  return std::ranges::find(layers, name, &LayerWeights::name);
}

LayerList::iterator require_layer(LayerList& layers, const std::string& name, const std::string& path) {
  const auto found = find_layer(layers, name);
  if (found == layers.end()) refuse_missing(name, layers, path);
  return found;
}

void require_unique(const LayerList& layers, const std::string& name) {
  if (std::ranges::count(layers, name, &LayerWeights::name) <= 1) return;
  throw Error(ErrorKind::kUsage, "two layers would be called " + quoted_name(name),
              "drop one of them, or give it another name");
}

void rename_layers(const std::vector<Renaming>& renamings, const std::string& path, LayerList& layers) {
  std::vector<std::pair<LayerWeights*, std::string>> renamed;  // all are found before any has its new name
  for (const Renaming& renaming : renamings)
    renamed.emplace_back(&*require_layer(layers, renaming.from, path), renaming.to);
  for (const auto& [layer, name] : renamed) {
    LOG_INFO << "rename " << excerpt(layer->name) << " to " << excerpt(name);
    layer->name = name;
  }
  for (const Renaming& renaming : renamings) require_unique(layers, renaming.to);
}

void drop_layers(const std::vector<std::string>& names, const std::string& path, LayerList& layers) {
  for (const std::string& name : names) {
    require_layer(layers, name, path);
    LOG_INFO << "drop " << excerpt(name);
    std::erase_if(layers, [&](const LayerWeights& layer) { return layer.name == name; });
  }
}

std::string shapes_text(const std::vector<BlobData>& blobs) {
  std::string text;
  for (const BlobData& blob : blobs) text += (text.empty() ? "" : "; ") + Shape(blob.shape).str();
  return text.empty() ? "no arrays" : text;
}

bool equal_shapes_of(const LayerWeights& a, const LayerWeights& b) {
  return std::ranges::equal(a.blobs, b.blobs, [](const BlobData& x, const BlobData& y) {
    return same_shape(x, y.shape) || same_shape(y, x.shape);
  });
}

void transplant_layers(const Transplant& transplant, bool any_shape, LayerList& layers) {
  LayerList donors = format_of_file(transplant.path).read_model(transplant.path).layers;
  for (const Renaming& wanted : transplant.layers) {
    LayerWeights donor = *require_layer(donors, wanted.from, transplant.path);
    donor.name = wanted.to;
    LOG_INFO << "transplant " << excerpt(wanted.from) << " of " << transplant.path << " as " << excerpt(wanted.to)
             << ": " << shapes_text(donor.blobs);
    const auto place = find_layer(layers, wanted.to);
    if (place == layers.end()) {
      layers.push_back(std::move(donor));
      continue;
    }
    // With a net to fit to, that decides about shapes in the end.
    if (!any_shape && !equal_shapes_of(*place, donor)) {
      throw Error(ErrorKind::kModel,
                  str("its arrays are ", shapes_text(place->blobs), ", those of ", transplant.path, " ",
                      shapes_text(donor.blobs)),
                  "drop the layer first, or give the net that is meant by -like")
          .in_layer(wanted.to);
    }
    // HDF5 files hold no types of layers.
    if (donor.type.empty()) donor.type = place->type;
    *place = std::move(donor);
  }
}

/// The arrays of a layer in the shapes that the net has.
void fit_layer(const Node& node, LayerWeights& layer) {
  bool fits = layer.blobs.size() == node.params.size();
  for (size_t i = 0; fits && i < node.params.size(); ++i)
    fits = same_shape(layer.blobs[i], node.params[i]->desc.shape.dims());
  if (!fits) {
    std::string wanted;
    for (const ParamPtr& param : node.params) wanted += (wanted.empty() ? "" : "; ") + param->desc.shape.str();
    throw Error(
        ErrorKind::kModel,
        str("the net wants ", wanted.empty() ? "no arrays" : wanted, ", the weights have ", shapes_text(layer.blobs)),
        "drop the layer, or transplant another one")
        .in_layer(layer.name);
  }
  for (size_t i = 0; i < node.params.size(); ++i) {
    layer.blobs[i].shape = node.params[i]->desc.shape.dims();
    layer.blobs[i].legacy_dims = false;
  }
}

LayerList fit_to_net(const std::string& net_path, caffe::Phase phase, LayerList layers) {
  NetOptions options;
  options.phase = phase;
  options.plan_only = true;
  options.backward = false;
  options.data.synthesize_missing = true;
  const auto net = [&] {
    const QuietLog quiet;
    return std::make_unique<Net>(net_in_state(net_path, phase, 0, {}), options);
  }();
  LayerList fitted;
  std::set<std::string> known;
  for (const Node& node : net->graph().nodes) {
    const std::string& name = node.layer->name();
    const auto found = find_layer(layers, name);
    // Names need not be unique; as in Caffe the first layer of a name takes the weights.
    if (!known.insert(name).second) continue;
    if (found == layers.end()) {
      if (!node.params.empty())
        LOG_WARNING << net_path << " has a layer " << name << " with parameters, the weights not";
      continue;
    }
    LayerWeights layer = std::move(*found);
    // What was moved away has lost its name, which is looked at below.
    found->name = name;
    fit_layer(node, layer);
    layer.type = node.layer->type();
    fitted.push_back(std::move(layer));
  }
  for (const LayerWeights& layer : layers) {
    if (!known.contains(layer.name)) LOG_INFO << "drop " << excerpt(layer.name) << ": not in " << net_path;
  }
  return fitted;
}

/// What the file says of its layers beside their arrays, by their names; nothing where it says nothing that we
/// understand. Weights are read without it.
std::map<std::string, caffe::LayerParameter> definitions_in(const std::string& path) {
  std::map<std::string, caffe::LayerParameter> definitions;
  try {
    caffe::NetParameter net;
    read_binary_proto(path, &net, ErrorKind::kModel);
    for (auto& layer : *net.mutable_layer()) layer.clear_blobs();
    for (auto& layer : *net.mutable_layers()) layer.clear_blobs();
    UpgradeNotes notes;
    const NetDef upgraded = net_from(net, path, &notes);
    for (const caffe::LayerParameter& layer : upgraded.param.layer()) definitions.emplace(layer.name(), layer);
  } catch (const Error& error) {
    LOG_INFO << path << ": definitions of layers are left out (" << error.cause() << ")";
  }
  return definitions;
}

caffe::NetParameter net_of(const std::string& name, const LayerList& layers,
                           const std::map<std::string, caffe::LayerParameter>& definitions) {
  caffe::NetParameter net;
  net.set_name(name);
  for (const LayerWeights& layer : layers) {
    caffe::LayerParameter* proto = net.add_layer();
    const auto definition = definitions.find(layer.name);
    if (definition != definitions.end() && (layer.type.empty() || definition->second.type() == layer.type))
      *proto = definition->second;
    proto->set_name(layer.name);
    if (!layer.type.empty()) proto->set_type(layer.type);
    for (const BlobData& blob : layer.blobs) blob_to_proto(blob.shape, blob.data.data(), proto->add_blobs());
  }
  return net;
}

}  // namespace

std::vector<Renaming> parse_renamings(const std::string& list) {
  std::vector<Renaming> renamings;
  std::set<std::string> seen;
  for (const std::string& entry : split_list(list)) {
    const size_t equal = entry.find('=');
    const std::string from = entry.substr(0, equal), to = equal == std::string::npos ? from : entry.substr(equal + 1);
    if (from.empty() || to.empty())
      throw Error(ErrorKind::kUsage, "\"" + entry + "\" lacks the name of a layer", "write old=new");
    if (!seen.insert(from).second)
      throw Error(ErrorKind::kUsage, "layer " + quoted_name(from) + " is named twice", "name each layer once");
    renamings.push_back({from, to});
  }
  return renamings;
}

std::vector<Transplant> parse_transplants(const std::string& text) {
  std::vector<Transplant> transplants;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    // The last one: a path may have others.
    const size_t colon = part.rfind(':');
    Transplant transplant{.path = part.substr(0, colon), .layers = {}};
    if (colon != std::string::npos) transplant.layers = parse_renamings(part.substr(colon + 1));
    if (transplant.path.empty() || transplant.layers.empty()) {
      throw Error(ErrorKind::kUsage, "-transplant \"" + part + "\" names no file with layers",
                  "write FILE:layer,layer=name_here");
    }
    transplants.push_back(std::move(transplant));
    begin = end + 1;
  }
  return transplants;
}

caffe::NetParameter operate(const std::string& weights, const SurgeryOptions& options) {
  WeightsFile file = format_of_file(weights).read_model(weights);
  std::map<std::string, caffe::LayerParameter> definitions = definitions_in(weights);
  // All are taken out before one is put back: two layers may exchange their names.
  std::map<std::string, caffe::LayerParameter> renamed;
  for (const Renaming& renaming : options.rename) {
    const auto node = definitions.extract(renaming.from);
    if (!node.empty()) renamed[renaming.to] = node.mapped();
  }
  rename_layers(options.rename, weights, file.layers);
  for (auto& [name, definition] : renamed) definitions[name] = std::move(definition);
  drop_layers(options.drop, weights, file.layers);
  for (const Transplant& transplant : options.transplant)
    transplant_layers(transplant, !options.like.empty(), file.layers);
  if (!options.like.empty()) file.layers = fit_to_net(options.like, options.like_phase, std::move(file.layers));
  const auto with_arrays =
      std::ranges::count_if(file.layers, [](const LayerWeights& layer) { return !layer.blobs.empty(); });
  if (with_arrays == 0) {
    throw Error(ErrorKind::kUsage, "no layer with arrays would be left", "drop fewer layers");
  }
  LOG_INFO << counted(static_cast<int64_t>(file.layers.size()), "layer") << ", " << with_arrays << " with arrays";
  return net_of(file.net_name, file.layers, definitions);
}

}  // namespace robusta
