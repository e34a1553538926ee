// Sources of data become inputs of the shapes that the net really sees: those of the source's own tops, cropped.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/log.h"
#include "base/str.h"
#include "exchange/deploy/heads.h"
#include "schema/mean_file.h"

namespace robusta::deploy {
namespace {

/// The part of a mean image that the centre crop of a test leaves.
BlobData centre(const BlobData& image, const Shape& item) {
  const std::vector<int64_t>& from = image.shape;
  const int64_t channels = item[0], height = item[1], width = item[2];
  if (from[0] != channels || from[1] < height || from[2] < width) {
    throw Error(ErrorKind::kData, str("the mean image is ", Shape(from).str(), " for an input of ", item.str()),
                "make it of the data that the net is trained with");
  }
  BlobData part{.shape = item.dims(), .legacy_dims = false, .data = {}};
  const int64_t y0 = (from[1] - height) / 2, x0 = (from[2] - width) / 2;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      const auto row = image.data.begin() + ((c * from[1] + y + y0) * from[2] + x0);
      part.data.insert(part.data.end(), row, row + width);
    }
  }
  return part;
}

InputTransform transform_of(const DeployLayer& layer, const std::string& blob, const Shape& shape) {
  const caffe::TransformationParameter& p = layer.param.transform_param();
  InputTransform transform{
      .blob = blob, .param = p, .source = layer.source, .item = shape, .mean_values = {}, .mean_image = {}};
  transform.scale = p.scale();
  if (shape.axes() < 4) return transform;
  const auto channels = static_cast<size_t>(shape[1]);
  transform.mean_values.assign(p.mean_value().begin(), p.mean_value().end());
  if (transform.mean_values.size() == 1) transform.mean_values.resize(channels, transform.mean_values[0]);
  if (!transform.mean_values.empty() && transform.mean_values.size() != channels) {
    throw Error(ErrorKind::kConfig, str(p.mean_value_size(), " mean values for ", channels, " channels"),
                "give one, or one per channel")
        .in_field("transform_param.mean_value");
  }
  if (!p.mean_file().empty()) transform.mean_image = centre(read_mean_file(p.mean_file()), shape.slice(1, 4));
  return transform;
}

caffe::LayerParameter input_layer(const std::string& name, const std::string& blob, const Shape& shape) {
  caffe::LayerParameter layer;
  layer.set_name(name);
  layer.set_type("Input");
  layer.add_top(blob);
  caffe::BlobShape* dims = layer.mutable_input_param()->add_shape();
  for (const int64_t dim : shape.dims()) dims->add_dim(dim);
  return layer;
}

struct Source {
  bool any = false, input = false;
};

std::vector<Source> sources_of(const DeployNet& net) {
  const NetDef def = net.definition();
  const std::unique_ptr<Net> built = build_net(def, net.batch, true);
  std::vector<Source> sources;
  for (const NodeId id : nodes_of(*built, def.param)) {
    const SourceLayer* source = built->graph().nodes[id].source;
    sources.push_back({source != nullptr, source && source->is_input()});
  }
  return sources;
}

/// Replaces source `at`, whose tops have these shapes, by an Input layer for each of them that is read. Returns how
/// many.
int replace_source(DeployNet& net, int at, bool was_input, std::vector<Shape> tops,
                   std::vector<InputTransform>& transforms) {
  const DeployLayer source = net.at(at);
  net.remove(at);
  int made = 0;
  for (int top = 0; top < source.param.top_size(); ++top) {
    const std::string& blob = source.param.top(top);
    if (net.readers(blob).empty() && !net.is_output(blob)) continue;
    const Shape& shape = tops[static_cast<size_t>(top)];
    if (!was_input && top == 0) {
      try {
        InputTransform transform = transform_of(source, blob, shape);
        if (source.param.has_transform_param()) transforms.push_back(std::move(transform));
      } catch (const Error& error) {
        throw_at(error, source);
      }
    }
    LOG_INFO << "Input " << net.names.at(blob) << ": " << shape.str() << (was_input ? "" : " in place of ")
             << (was_input ? "" : source.param.name());
    net.insert(at + made, input_layer(net.free_layer_name(net.names.at(blob)), blob, shape), source.source);
    ++made;
  }
  return made;
}

using ShapesByName = std::map<std::string, Shape>;

/// The shapes of the layer's tops, where each that is read is given.
std::optional<std::vector<Shape>> given_shapes(DeployNet& net, int at, const ShapesByName& shapes) {
  const caffe::LayerParameter& layer = net.at(at).param;
  if (layer.bottom_size() > 0) return std::nullopt;
  std::vector<Shape> tops;
  for (const std::string& blob : layer.top()) {
    const auto given = shapes.find(net.names.at(blob));
    const bool is_read = !net.readers(blob).empty() || net.is_output(blob);
    if (is_read && given == shapes.end()) return std::nullopt;
    tops.push_back(given == shapes.end() ? Shape{} : given->second);
  }
  return tops;
}

/// Before the net is built: the data of such sources need not be there.
int make_given_inputs(DeployNet& net, const ShapesByName& shapes, std::vector<InputTransform>& transforms) {
  std::set<std::string> unknown;
  for (const auto& [name, shape] : shapes) unknown.insert(name);
  int made = 0;
  for (int i = net.size() - 1; i >= 0; --i) {
    const std::optional<std::vector<Shape>> tops = given_shapes(net, i, shapes);
    if (!tops) continue;
    const caffe::LayerParameter layer = net.at(i).param;
    for (const std::string& blob : layer.top()) unknown.erase(net.names.at(blob));
    made += replace_source(net, i, layer.type() == "Input", *tops, transforms);
  }
  if (unknown.empty()) return made;
  throw Error(ErrorKind::kUsage,
              str("-shapes: no input that the outputs depend on is called \"", *unknown.begin(), "\""),
              "name what a layer without bottoms makes, and all of it that is read");
}

}  // namespace

std::vector<InputTransform> make_inputs(DeployNet& net, int64_t batch, const ShapesByName& shapes) {
  std::vector<InputTransform> transforms;
  int made = make_given_inputs(net, shapes, transforms);
  const std::vector<Source> sources = sources_of(net);
  const bool reads_data =
      std::any_of(sources.begin(), sources.end(), [](const Source& s) { return s.any && !s.input; });
  net.batch = batch == 0 && reads_data ? 1 : batch;
  net.change();
  for (int i = net.size() - 1; i >= 0; --i) {
    const Source& source = sources[static_cast<size_t>(i)];
    if (source.input && shapes.contains(net.names.at(net.at(i).param.top(0)))) continue;
    if (source.any) made += replace_source(net, i, source.input, net.shapes(i).tops, transforms);
  }
  net.batch = 0;
  if (made == 0) {
    throw Error(ErrorKind::kConfig, "the net has neither a data layer nor an input that its outputs depend on",
                "add an Input layer, or take the net that was trained")
        .at(net.file);
  }
  return transforms;
}

}  // namespace robusta::deploy
