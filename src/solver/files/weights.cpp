// Weights are matched by the names of layers, as in Caffe: what only one side has is reported, what both have must fit.
#include "solver/files/weights.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "schema/array_message.h"
#include "solver/files/model_format.h"
#include "solver/files/second_pairs.h"

namespace robusta {
namespace {

/// "20 1 5 5", for the table.
std::string dims(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "scalar";
  std::ostringstream text;
  for (size_t i = 0; i < shape.size(); ++i) text << (i > 0 ? " " : "") << shape[i];
  return text.str();
}

std::string entry(const std::string& layer, const std::vector<ParamPtr>& params) {
  std::ostringstream text;
  text << layer << " (";
  for (size_t i = 0; i < params.size(); ++i) text << (i > 0 ? ", " : "") << dims(params[i]->desc.shape.dims());
  text << ')';
  return text.str();
}

/// The first one of this name, as in Caffe.
const Node* find_node(const Net& net, const std::string& layer) {
  for (const Node& node : net.graph().nodes) {
    if (node.layer->name() == layer) return &node;
  }
  return nullptr;
}

/// Drops the parameters that another layer owns from what has to be in the file, if it leaves these out.
std::vector<size_t> params_in_file(const WeightsFile& file, const LayerWeights& from, const Node& to) {
  std::vector<size_t> own;
  for (size_t i = 0; i < to.params.size(); ++i) {
    const bool absent = i >= from.blobs.size() || from.blobs[i].data.empty();
    const bool left_out = file.leaves_out_shared && absent && to.params[i]->layer != to.layer->name();
    if (!left_out) own.push_back(i);
  }
  return own;
}

/// Without leading ones: C3D's Caffe writes biases as 1 x 1 x 1 x 1 x n.
std::vector<int64_t> significant(const std::vector<int64_t>& shape) {
  return {std::find_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; }), shape.end()};
}

/// With strict_dim false (DeepLab's Caffe, src/caffe/net.cpp of TheLegendAli/DeepLab-Context) any shape fits that has
/// as many numbers: fully connected layers become convolutions so.
bool fits(const BlobData& blob, const Shape& shape, const Layer& layer) {
  if (same_shape(blob, shape.dims()) || significant(blob.shape) == significant(shape.dims())) return true;
  return !layer.param().strict_dim() && static_cast<int64_t>(blob.data.size()) == shape.count();
}

void copy_layer(const WeightsFile& file, const LayerWeights& from, const Node& to, Net& net) {
  const std::vector<size_t> own = params_in_file(file, from, to);
  const size_t needed = own.empty() ? 0 : own.back() + 1;
  if (from.blobs.size() < needed || from.blobs.size() > to.params.size()) {
    throw Error(ErrorKind::kModel, str("the file has ", from.blobs.size(), " arrays, the layer has ", to.params.size()),
                "rename the layer in the prototxt to learn it anew");
  }
  // All are checked before one is written: a layer is copied whole or not at all.
  for (const size_t i : own) {
    if (from.blobs[i].data.empty())
      throw Error(ErrorKind::kModel, str("the file lacks array ", i), "take another file");
    const Shape& shape = to.params[i]->desc.shape;
    if (!fits(from.blobs[i], shape, *to.layer)) {
      throw Error(ErrorKind::kModel,
                  str("cannot copy parameter ", i, ": its shape is ", Shape(from.blobs[i].shape).str(),
                      " in the file and ", shape.str(), " in the net"),
                  "rename the layer in the prototxt to learn it anew");
    }
  }
  for (const size_t i : own) net.blobs().write_param(*to.params[i], from.blobs[i].data);
}

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Never 0, which stands for no fingerprint. Of a set, since a shared parameter is in some files once and in others
/// under every layer that uses it.
uint64_t hash_of(const std::set<uint64_t>& hashes) {
  const std::vector<uint64_t> sorted(hashes.begin(), hashes.end());
  const auto* bytes = reinterpret_cast<const char*>(sorted.data());
  return std::max<uint64_t>(hash_bytes({bytes, sorted.size() * sizeof(uint64_t)}), 1);
}

CopyReport copy_layers(const WeightsFile& file, const std::string& path, Net& net) {
  CopyReport report;
  std::set<std::string> seen;
  for (const LayerWeights& layer : file.layers) {
    const Node* node = find_node(net, layer.name);
    if (!node) {
      // Caffe has a line for each of these, with weights or without; what was skipped counts those with weights alone.
      report.ignored.push_back(layer.name);
      if (!layer.blobs.empty()) report.skipped.push_back(layer.name);
      continue;
    }
    seen.insert(layer.name);
    if (layer.blobs.empty() && node->params.empty()) continue;
    try {
      copy_layer(file, layer, *node, net);
    } catch (Error& error) {
      throw error.in_layer(layer.name).at(path);
    }
    report.copied.push_back(entry(layer.name, node->params));
  }
  for (const Node& node : net.graph().nodes) {
    const std::string& name = node.layer->name();
    if (!node.params.empty() && !seen.contains(name)) report.missing.push_back(entry(name, node.params));
  }
  return report;
}

void log_rows(const char* what, const std::vector<std::string>& layers, const char* note) {
  for (const std::string& layer : layers) LOG_INFO << "    " << what << "  " << layer << note;
}

}  // namespace

CopyReport copy_weights(const WeightsFile& file, const std::string& path, Net& net) {
  if (const std::optional<WeightsFile> moved = with_moved_pairs(file, net)) return copy_layers(*moved, path, net);
  return copy_layers(file, path, net);
}

void load_weights(const std::vector<std::string>& paths, Net& net, const std::string& purpose) {
  for (const std::string& path : paths) {
    LOG_INFO << purpose << " from " << path;
    const CopyReport report = copy_weights(format_of_file(path).read_model(path), path, net);
    for (const std::string& layer : report.ignored) LOG_INFO << "Ignoring source layer " << layer;
    LOG_INFO << "Weights: " << report.copied.size() << " layers copied, " << report.skipped.size() << " skipped, "
             << report.missing.size() << " missing";
    log_rows("copied ", report.copied, "");
    log_rows("skipped", report.skipped, ": the net has no layer of this name");
    log_rows("missing", report.missing, ": not in the file, keeps its initial values");
    if (report.copied.empty()) LOG_WARNING << path << " has no layer in common with the net \"" << net.name() << '"';
  }
}

void load_weights_quietly(const std::vector<std::string>& paths, Net& net, const std::string& purpose) {
  for (const std::string& path : paths) {
    LOG_INFO << purpose << " from " << path;
    copy_weights(format_of_file(path).read_model(path), path, net);
  }
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    const size_t begin = item.find_first_not_of(" \t"), end = item.find_last_not_of(" \t");
    if (begin != std::string::npos) items.push_back(item.substr(begin, end - begin + 1));
  }
  return items;
}

uint64_t fingerprint(const WeightsFile& weights) {
  std::set<uint64_t> arrays;
  for (const LayerWeights& layer : weights.layers) {
    for (const BlobData& blob : layer.blobs) {
      if (!blob.data.empty()) arrays.insert(hash_bytes(bytes_of(blob.data)));
    }
  }
  return hash_of(arrays);
}

uint64_t fingerprint(Net& net) {
  std::set<uint64_t> arrays;
  for (const Node& node : net.graph().nodes) {
    for (const ParamPtr& param : node.params) arrays.insert(hash_bytes(bytes_of(net.blobs().read_param(*param))));
  }
  return hash_of(arrays);
}

uint64_t joint_fingerprint(uint64_t model, uint64_t averaged) {
  const uint64_t both[] = {model, averaged};
  return std::max<uint64_t>(hash_bytes({reinterpret_cast<const char*>(both), sizeof both}), 1);
}

WeightsFile weights_of(Net& net) {
  WeightsFile weights;
  weights.net_name = net.name();
  for (const Node& node : net.graph().nodes) {
    if (node.added) continue;
    LayerWeights layer{node.layer->name(), node.layer->param().type(), {}};
    for (const ParamPtr& param : node.params) {
      layer.blobs.push_back({.shape = param->desc.shape.dims(), .data = net.blobs().read_param(*param)});
    }
    weights.layers.push_back(std::move(layer));
  }
  return weights;
}

/// Every layer of the net that was built, as Caffe writes it: sources and Splits, too, which have no blobs.
caffe::NetParameter net_to_proto(Net& net, bool with_diffs) {
  caffe::NetParameter proto;
  proto.set_name(net.name());
  for (const Node& node : net.graph().nodes) {
    if (node.added) continue;
    caffe::LayerParameter* layer = proto.add_layer();
    *layer = node.written();
    layer->clear_blobs();
    for (const ParamPtr& param : node.params) {
      caffe::BlobProto* blob = layer->add_blobs();
      blob_to_proto(param->desc.shape.dims(), net.blobs().read_param(*param).data(), blob);
      if (!with_diffs) continue;
      const std::vector<float> diff = net.blobs().read_param_diff(*param);
      blob->mutable_diff()->Add(diff.begin(), diff.end());
    }
  }
  return proto;
}

void write_net(const std::string& path, Net& net, bool with_diffs) {
  constexpr int kLayers = caffe::NetParameter::kLayerFieldNumber, kBlobs = caffe::LayerParameter::kBlobsFieldNumber;
  caffe::NetParameter proto;
  proto.set_name(net.name());
  ArrayMessage file;
  file.add_below(proto, kLayers);
  for (const Node& node : net.graph().nodes) {
    if (node.added) continue;
    ArrayMessage layer;
    layer.add_below(node.written(), kBlobs);
    for (const ParamPtr& param : node.params) {
      ArrayBlob blob{.shape = param->desc.shape.dims(),
                     .data = [&net, param] { return net.blobs().read_param(*param); },
                     .diff = nullptr};
      if (with_diffs) blob.diff = [&net, param] { return net.blobs().read_param_diff(*param); };
      layer.add_blob(kBlobs, std::move(blob));
    }
    layer.add_above(node.written(), kBlobs);
    file.add_message(kLayers, std::move(layer));
  }
  file.add_above(proto, kLayers);
  file.write(path);
}

size_t proto_bytes(const Net& net, bool with_diffs) {
  constexpr size_t kLayerOverhead = 4096;  // definition and framing
  size_t bytes = 0;
  for (const Node& node : net.graph().nodes) {
    bytes += kLayerOverhead;
    for (const ParamPtr& param : node.params) {
      bytes += static_cast<size_t>(param->desc.count()) * sizeof(float) * (with_diffs ? 2 : 1);
    }
  }
  return bytes;
}

}  // namespace robusta
