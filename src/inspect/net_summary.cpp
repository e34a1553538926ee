// Counts are the layers' own; memory is the planner's.

#include "inspect/net_summary.h"

#include <algorithm>
#include <iomanip>
#include <set>
#include <sstream>

#include "base/bytes.h"
#include "base/counted.h"
#include "base/str.h"
#include "inspect/text_table.h"
#include "net/report.h"
#include "solver/reports/json_log.h"

namespace robusta {
namespace {

std::vector<NamedShape> named_shapes(const Graph& graph, const std::vector<VersionId>& versions) {
  std::vector<NamedShape> shapes;
  for (const VersionId v : versions) shapes.push_back({graph.versions[v].name, graph.versions[v].shape});
  return shapes;
}

std::vector<Shape> shapes_of(const std::vector<NamedShape>& blobs) {
  std::vector<Shape> shapes;
  for (const NamedShape& blob : blobs) shapes.push_back(blob.shape);
  return shapes;
}

bool is_among(const std::vector<NamedShape>& blobs, const std::string& name) {
  return std::ranges::any_of(blobs, [&](const NamedShape& blob) { return blob.name == name; });
}

/// "data_lenet_0_split_1" is a Split's name for "data": the prototxt does not know it.
std::string name_before_splits(const Graph& graph, VersionId version) {
  const Node& producer = graph.nodes[graph.versions[version].producer];
  if (producer.layer->type() != "Split" || producer.bottoms.size() != 1) return graph.versions[version].name;
  return name_before_splits(graph, producer.bottoms[0]);
}

/// Whether training would change it. A net without a loss has no gradients, so that Param::learns says nothing.
bool has_rate(const Param& param) { return param.lr_mult != 0 && !param.statistic; }

LayerSummary summarise_layer(const Graph& graph, const Node& node, std::set<const Param*>& seen) {
  LayerSummary layer;
  layer.name = node.layer->name();
  layer.type = node.layer->type();
  layer.bottoms = named_shapes(graph, node.bottoms);
  layer.tops = named_shapes(graph, node.tops);
  for (size_t i = 0; i < node.bottoms.size(); ++i) layer.bottoms[i].name = name_before_splits(graph, node.bottoms[i]);
  if (!node.source) layer.flops = node.layer->forward_flops(shapes_of(layer.bottoms), shapes_of(layer.tops));
  for (const NamedShape& top : layer.tops) {
    if (is_among(layer.bottoms, top.name)) {
      layer.in_place = true;
    } else {
      layer.top_bytes += top.shape.count() * static_cast<int64_t>(sizeof(float));
    }
  }
  for (const ParamPtr& param : node.params) {
    layer.params.push_back(param->desc.shape);
    if (!seen.insert(param.get()).second) {
      if (layer.shared_from.empty()) layer.shared_from = param->layer;
      continue;
    }
    layer.param_count += param->desc.shape.count();
    layer.learns = layer.learns || has_rate(*param);
  }
  return layer;
}

std::string joined_shapes(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) {
    std::string dims;
    for (const int64_t extent : shape.dims()) dims += str(dims.empty() ? "" : "x", extent);
    text += str(text.empty() ? "" : ", ", dims.empty() ? "1" : dims);
  }
  return text;
}

std::string with_unit(double count) {
  constexpr const char* kUnits[] = {"", " K", " M", " G", " T"};
  size_t unit = 0;
  for (; count >= 1000 && unit < 4; ++unit) count /= 1000;
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit == 0 ? 0 : 2) << count << kUnits[unit];
  return text.str();
}

std::string json_array(const std::vector<std::string>& members) {
  std::string text;
  for (const std::string& member : members) text += (text.empty() ? "" : ",") + member;
  return "[" + text + "]";
}

std::string json_dims(const Shape& shape) {
  std::vector<std::string> dims;
  for (const int64_t extent : shape.dims()) dims.push_back(std::to_string(extent));
  return json_array(dims);
}

std::string json_blobs(const std::vector<NamedShape>& blobs) {
  std::vector<std::string> members;
  for (const NamedShape& blob : blobs)
    members.push_back(JsonObject().add("name", blob.name).add_raw("shape", json_dims(blob.shape)).text());
  return json_array(members);
}

std::string json_layer(const LayerSummary& layer) {
  std::vector<std::string> params;
  for (const Shape& shape : layer.params) params.push_back(json_dims(shape));
  JsonObject object;
  object.add("name", layer.name).add("type", layer.type);
  object.add_raw("bottoms", json_blobs(layer.bottoms)).add_raw("tops", json_blobs(layer.tops));
  object.add_raw("params", json_array(params)).add("param_count", layer.param_count).add("learns", layer.learns);
  if (!layer.shared_from.empty()) object.add("shared_from", layer.shared_from);
  object.add("flops", layer.flops).add("top_bytes", layer.top_bytes).add("in_place", layer.in_place);
  return object.text();
}

}  // namespace

NetSummary summarise(const Net& net) {
  NetSummary summary;
  summary.name = net.name();
  summary.phase = net.options().phase == caffe::TRAIN ? "TRAIN" : "TEST";
  summary.batch = net.batch();
  std::set<const Param*> seen;
  for (const Node& node : net.graph().nodes) {
    LayerSummary layer = summarise_layer(net.graph(), node, seen);
    summary.flops += layer.flops;
    if (layer.type != "Split") summary.layers.push_back(std::move(layer));
  }
  for (const ParamPtr& param : net.params()) {
    summary.params += param->desc.shape.count();
    if (has_rate(*param)) summary.learned += param->desc.shape.count();
  }
  const MemoryUse use = memory_use(net, {});
  summary.weights_bytes = static_cast<size_t>(summary.params) * sizeof(float);
  summary.pass_bytes = use.activations + use.kernels;
  summary.unshared_bytes = net.plan().unshared_bytes;
  return summary;
}

void print_summary(std::ostream& out, const NetSummary& summary) {
  out << "net \"" << summary.name << "\", phase " << summary.phase << ", batch " << summary.batch << "\n\n";
  TextTable table;
  table.add({"layer", "type", "top", "shape", "parameters", "their shapes", "FLOP", "memory"});
  for (const LayerSummary& layer : summary.layers) {
    const std::string count = layer.params.empty()         ? "-"
                              : !layer.shared_from.empty() ? "of " + layer.shared_from
                                                           : std::to_string(layer.param_count);
    table.add({layer.name, layer.type, layer.tops.empty() ? "-" : layer.tops[0].name,
               layer.tops.empty() ? "-" : joined_shapes({layer.tops[0].shape}), count, joined_shapes(layer.params),
               layer.flops > 0 ? with_unit(layer.flops) : "-",
               layer.in_place ? "in place" : bytes_text(static_cast<double>(layer.top_bytes))});
    for (size_t i = 1; i < layer.tops.size(); ++i)
      table.add({"", "", layer.tops[i].name, joined_shapes({layer.tops[i].shape})});
  }
  table.print(out);
  out << "\n"
      << counted(static_cast<int64_t>(summary.layers.size()), "layer") << "; parameters " << summary.params << " ("
      << with_unit(static_cast<double>(summary.params)) << ", " << bytes_text(summary.weights_bytes) << " as f32), "
      << summary.learned << " of them learn\n"
      << "FLOP of one forward pass: " << with_unit(summary.flops) << " ("
      << with_unit(summary.flops / static_cast<double>(std::max<int64_t>(summary.batch, 1))) << " per sample)\n"
      << "memory of a pass: " << bytes_text(summary.pass_bytes) << " as planned here, "
      << bytes_text(summary.unshared_bytes) << " where nothing shares memory\n";
}

void print_summary_json(std::ostream& out, const NetSummary& summary) {
  std::vector<std::string> layers;
  for (const LayerSummary& layer : summary.layers) layers.push_back(json_layer(layer));
  JsonObject object;
  object.add("name", summary.name).add("phase", summary.phase).add("batch", summary.batch);
  object.add("params", summary.params).add("learned", summary.learned).add("flops", summary.flops);
  object.add("weights_bytes", static_cast<uint64_t>(summary.weights_bytes));
  object.add("pass_bytes", static_cast<uint64_t>(summary.pass_bytes));
  object.add("unshared_bytes", static_cast<uint64_t>(summary.unshared_bytes));
  object.add_raw("layers", json_array(layers));
  out << object.text() << '\n';
}

}  // namespace robusta
