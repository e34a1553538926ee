// Names, layers and their shapes, and what becomes of a net whose layers are all there.

#include "exchange/onnx/import/graph.h"

#include <algorithm>
#include <cctype>

#include "base/str.h"
#include "layers/kit/layer.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string valid_name(std::string name) {
  for (const std::string_view ending : {"_output_0"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  const size_t begin = name.find_first_not_of('/');
  name = begin == std::string::npos ? "value" : name.substr(begin);
  for (char& letter : name) {
    const bool fine = std::isalnum(static_cast<unsigned char>(letter)) ||
                      std::string_view("_/.-:").find(letter) != std::string_view::npos;
    if (!fine) letter = '_';
  }
  constexpr size_t kLongest = 200;
  return name.substr(0, kLongest);
}

void rename_blob(caffe::NetParameter& net, const std::string& from, const std::string& to) {
  for (caffe::LayerParameter& layer : *net.mutable_layer()) {
    std::replace(layer.mutable_bottom()->begin(), layer.mutable_bottom()->end(), from, to);
    std::replace(layer.mutable_top()->begin(), layer.mutable_top()->end(), from, to);
    if (layer.name() == from) layer.set_name(to);
  }
}

bool is_read(const caffe::NetParameter& net, const std::string& blob) {
  return std::any_of(net.layer().begin(), net.layer().end(), [&](const caffe::LayerParameter& layer) {
    return std::find(layer.bottom().begin(), layer.bottom().end(), blob) != layer.bottom().end();
  });
}

void drop_unneeded(OnnxGraph& graph) {
  std::set<std::string> needed;
  for (const ImportedBlob& output : graph.imported.outputs) needed.insert(output.blob);
  auto& layers = *graph.imported.net.mutable_layer();
  std::vector<bool> keeps(static_cast<size_t>(layers.size()));
  for (int i = layers.size() - 1; i >= 0; --i) {
    const caffe::LayerParameter& layer = layers[i];
    const bool wanted = layer.type() == "Input" || std::any_of(layer.top().begin(), layer.top().end(),
                                                               [&](const auto& top) { return needed.contains(top); });
    keeps[static_cast<size_t>(i)] = wanted;
    if (wanted) needed.insert(layer.bottom().begin(), layer.bottom().end());
  }
  caffe::NetParameter kept;
  for (int i = 0; i < layers.size(); ++i) {
    if (keeps[static_cast<size_t>(i)]) kept.add_layer()->Swap(&layers[i]);
  }
  layers.Swap(kept.mutable_layer());
}

/// Copies of blobs that are outputs and read as well, or outputs twice, or inputs: a net of Caffe returns what no layer
/// reads.
void copy_read_outputs(OnnxGraph& graph) {
  std::set<std::string> taken;
  for (ImportedBlob& output : graph.imported.outputs) {
    const auto& inputs = graph.imported.inputs;
    const bool is_input =
        std::any_of(inputs.begin(), inputs.end(), [&](const ImportedBlob& input) { return input.blob == output.blob; });
    if (!is_input && !is_read(graph.imported.net, output.blob) && taken.insert(output.blob).second) continue;
    caffe::LayerParameter layer;
    layer.set_name(unused_name(graph, output.value));
    layer.set_type("Power");
    layer.add_bottom(output.blob);
    layer.add_top(layer.name());
    append_layer(graph, layer);
    output.blob = layer.name();
    taken.insert(output.blob);
  }
}

/// Outputs keep the names that they have in the model, where these are free.
void name_outputs(OnnxGraph& graph) {
  for (ImportedBlob& output : graph.imported.outputs) {
    const std::string wanted = valid_name(output.value);
    if (output.blob == wanted) continue;
    if (graph.names.contains(wanted)) {
      const std::string inner = unused_name(graph, wanted + "_inner");
      const bool is_interface = std::any_of(graph.imported.inputs.begin(), graph.imported.inputs.end(),
                                            [&](const ImportedBlob& other) { return other.blob == wanted; }) ||
                                std::any_of(graph.imported.outputs.begin(), graph.imported.outputs.end(),
                                            [&](const ImportedBlob& other) { return other.blob == wanted; });
      if (is_interface) continue;
      rename_blob(graph.imported.net, wanted, inner);
    }
    graph.names.insert(wanted);
    rename_blob(graph.imported.net, output.blob, wanted);
    output.blob = wanted;
  }
}

/// Arrays from a file have to be those that the layer will ask for.
void require_arrays(const std::vector<ParamDecl>& params,
                    const google::protobuf::RepeatedPtrField<caffe::BlobProto>& arrays) {
  for (int i = 0; i < arrays.size() && i < static_cast<int>(params.size()); ++i) {
    const Shape& wanted = params[static_cast<size_t>(i)].shape;
    if (arrays[i].data_size() == wanted.count()) continue;
    throw Error(ErrorKind::kModel, str("array ", i, " has ", arrays[i].data_size(), " numbers, not ", wanted.str()));
  }
}

/// A weight that many nodes share is written once for each; a small file must not become a huge one by that.
void count_written(OnnxGraph& graph, const google::protobuf::RepeatedPtrField<caffe::BlobProto>& arrays) {
  constexpr int64_t kFree = int64_t{1} << 24, kMostTimes = 4;
  for (const caffe::BlobProto& array : arrays) graph.written += array.data_size();
  if (graph.written <= kFree + kMostTimes * graph.stored) return;
  throw Error(ErrorKind::kModel, str("the net would hold ", graph.written, " numbers, the model ", graph.stored),
              "its nodes share their weights more often than a file of Caffe can say");
}

/// Parts of slices that nobody reads would be outputs of the net.
void silence_unread(OnnxGraph& graph) {
  std::set<std::string> read;
  for (const ImportedBlob& output : graph.imported.outputs) read.insert(output.blob);
  for (const caffe::LayerParameter& layer : graph.imported.net.layer())
    read.insert(layer.bottom().begin(), layer.bottom().end());
  caffe::LayerParameter silence;
  for (const caffe::LayerParameter& layer : graph.imported.net.layer()) {
    if (layer.type() == "Input") continue;
    for (const std::string& top : layer.top()) {
      if (!read.contains(top)) silence.add_bottom(top);
    }
  }
  if (silence.bottom_size() == 0) return;
  silence.set_name(unused_name(graph, "unread"));
  silence.set_type("Silence");
  graph.imported.net.add_layer()->Swap(&silence);
}

}  // namespace

std::string unused_name(OnnxGraph& graph, const std::string& from) {
  const std::string name = valid_name(from);
  std::string unused = name;
  for (int i = 1; !graph.names.insert(unused).second; ++i) unused = str(name, "_", i);
  return unused;
}

std::vector<Shape> append_layer(OnnxGraph& graph, caffe::LayerParameter param) {
  std::vector<Shape> bottoms, tops;
  for (const std::string& bottom : param.bottom()) bottoms.push_back(graph.blobs.at(bottom));
  google::protobuf::RepeatedPtrField<caffe::BlobProto> arrays;  // apart, as the layer would copy them
  arrays.Swap(param.mutable_blobs());
  count_written(graph, arrays);
  try {
    const std::unique_ptr<Layer> layer = make_layer(param);
    tops = layer->infer_tops(bottoms);
    for (const Shape& top : tops) check_extents(top);
    require_arrays(layer->params(), arrays);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUnsupported, str("as a layer of type ", param.type(), ": ", error.cause()), error.fix());
  }
  for (int i = 0; i < param.top_size(); ++i) graph.blobs[param.top(i)] = tops[static_cast<size_t>(i)];
  arrays.Swap(param.mutable_blobs());
  graph.imported.net.add_layer()->Swap(&param);
  return tops;
}

void finish_net(OnnxGraph& graph) {
  drop_unneeded(graph);
  copy_read_outputs(graph);
  name_outputs(graph);
  silence_unread(graph);
}

}  // namespace robusta
