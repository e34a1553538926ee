// Guesses are improved one at a time: a net is built until a layer wants another shape, and then from the beginning.
// Building knows nothing but shapes, and takes milliseconds.

#include "net/graph/guesses.h"

#include <array>
#include <set>

#include "base/log.h"
#include "base/str.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/tells_shapes.h"
#include "net/graph/shapes.h"

namespace robusta {
namespace {

/// Heights and widths of images that published nets were made for.
constexpr std::array kSizes = std::to_array<std::pair<int, int>>(
    {{28, 28},   {32, 32},    {48, 48},    {64, 64},     {96, 96},   {112, 112},   {128, 128}, {160, 160}, {192, 192},
     {200, 200}, {227, 227},  {256, 256},  {288, 288},   {299, 299}, {300, 300},   {304, 304}, {320, 320}, {321, 321},
     {352, 352}, {384, 384},  {400, 400},  {416, 416},   {448, 448}, {473, 473},   {480, 480}, {500, 500}, {512, 512},
     {513, 513}, {544, 544},  {576, 576},  {608, 608},   {640, 640}, {672, 672},   {704, 704}, {713, 713}, {736, 736},
     {768, 768}, {800, 800},  {832, 832},  {896, 896},   {960, 960}, {1024, 1024}, {24, 24},   {36, 36},   {40, 40},
     {56, 56},   {72, 72},    {80, 80},    {100, 100},   {120, 120}, {144, 144},   {240, 320}, {360, 480}, {384, 1248},
     {480, 640}, {512, 1024}, {600, 1000}, {1024, 2048}, {32, 100},  {48, 160}});

/// The same of lines of text, for nets that lay the columns of one size out as steps.
std::vector<std::pair<int, int>> sizes_of_lines() {
  constexpr int kNarrowest = 64, kWidest = 512, kStep = 8;
  std::vector<std::pair<int, int>> sizes;
  for (const int height : {32, 48, 64}) {
    for (int width = kNarrowest; width <= kWidest; width += kStep) sizes.emplace_back(height, width);
  }
  return sizes;
}

/// Bottom 0 of `node` for a top that should have the shape `wanted`.
std::optional<Shape> shape_before(const Graph& graph, const Node& node, int top, const Shape& wanted) {
  const std::vector<Shape> bottoms = bottom_shapes(graph, node);
  const Shape &before = bottoms[0], &behind = graph.versions[node.tops[static_cast<size_t>(top)]].shape;
  if (const auto* layer = dynamic_cast<const TellsShapes*>(node.layer.get())) {
    if (auto told = layer->bottom_for(static_cast<size_t>(top), wanted, bottoms)) return told;
  }
  if (before == behind) return wanted;
  const bool keeps_channels = before.axes() == 4 && behind.axes() == 4 && before.slice(0, 2) == behind.slice(0, 2);
  if (!keeps_channels || wanted.axes() != 4 || wanted[1] == before[1]) return std::nullopt;
  Shape shape = before;
  shape[1] = wanted[1];
  return shape;
}

/// Whether what the prototxt says of the items of a top stays true with this shape.
bool may_become(const AssumedItem& item, const Shape& shape) {
  if (!item.channels_known && !item.size_known) return true;
  if (item.shape.axes() != 3 || shape.axes() != 3) return false;
  const bool same_size = item.shape.slice(1, 3) == shape.slice(1, 3);
  return (!item.channels_known || item.shape[0] == shape[0]) && (!item.size_known || same_size);
}

/// Whether a blob could have this shape: check_extents, as an answer.
bool is_possible(const Shape& shape) {
  try {
    check_extents(shape);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Follows the bottoms numbered 0 back to the source of a blob.
std::optional<WantedItem> followed_back(const Graph& graph, VersionId version, Shape wanted, const std::string& why) {
  while (true) {
    const BlobVersion& blob = graph.versions[version];
    if (wanted == blob.shape || wanted.axes() == 0 || !is_possible(wanted)) return std::nullopt;
    const Node& node = graph.nodes[blob.producer];
    if (node.bottoms.empty()) {
      auto* source = dynamic_cast<StandIn*>(node.source);
      if (!source || !source->stands_in() || wanted[0] != blob.shape[0]) return std::nullopt;
      const AssumedItem now = source->assumed(blob.top);
      const Shape item = wanted.slice(1, wanted.axes());
      if (item == now.shape || !may_become(now, item)) return std::nullopt;
      return WantedItem{node.layer->name(), blob.top, {item, why, now.channels_known, now.size_known}};
    }
    const std::optional<Shape> before = shape_before(graph, node, blob.top, wanted);
    if (!before) return std::nullopt;
    wanted = *before;
    version = node.bottoms[0];
  }
}

/// What is the source of a blob, and as which top, where nothing between them changes shapes.
std::optional<std::pair<StandIn*, const BlobVersion*>> stand_in_of(const Graph& graph, VersionId version) {
  while (true) {
    const BlobVersion& blob = graph.versions[version];
    const Node& node = graph.nodes[blob.producer];
    if (node.bottoms.empty()) {
      auto* source = dynamic_cast<StandIn*>(node.source);
      if (!source || !source->stands_in()) return std::nullopt;
      return std::pair{source, &blob};
    }
    version = node.bottoms[0];
    if (graph.versions[version].shape != blob.shape) return std::nullopt;
  }
}

/// An image like the source's first one.
std::optional<WantedItem> image_beside(const Graph& graph, VersionId version, const std::string& why) {
  const auto found = stand_in_of(graph, version);
  if (!found) return std::nullopt;
  const auto& [source, blob] = *found;
  AssumedItem image = source->assumed(0);
  if (image.shape.axes() != 3) image = assumed_image("", {});
  const AssumedItem now = source->assumed(blob->top);
  if (image.shape == now.shape || !may_become(now, image.shape)) return std::nullopt;
  return WantedItem{graph.nodes[blob->producer].layer->name(), blob->top, {.shape = image.shape, .reason = why}};
}

/// What became of building with some guesses.
struct Outcome {
  Guesses guesses;             ///< with what layers want
  std::optional<Error> error;  ///< none: the net fits together
};

/// Takes what layers want, until they want nothing, or the same for the second time.
Outcome with_wishes(const TryGuesses& try_guesses, Guesses guesses) {
  constexpr int kMostWishes = 40;
  std::set<std::string> seen;
  bool asking = true;
  for (int i = 0; i < kMostWishes; ++i) {
    try {
      try_guesses(guesses, asking);
      return {std::move(guesses), std::nullopt};
    } catch (WantedItem& wanted) {
      asking = seen.insert(str(wanted.layer, " ", wanted.top, " ", wanted.item.shape.str())).second;
      if (asking) guesses[{wanted.layer, wanted.top}] = wanted.item;
    } catch (Error& error) {
      return {std::move(guesses), std::move(error)};
    }
  }
  return {std::move(guesses), std::nullopt};
}

/// Of guesses of sources: the images whose size nothing says.
Guesses images_of_any_size(const Guesses& own) {
  Guesses images;
  for (const auto& [top, item] : own) {
    if (item.shape.axes() == 3 && !item.size_known) images[top] = item;
  }
  return images;
}

/// The images of these guesses in another size.
Guesses resized(const Guesses& images, std::pair<int, int> size) {
  Guesses guesses;
  for (auto [top, item] : images) {
    item.shape[1] = size.first;
    item.shape[2] = size.second;
    item.reason = "a size with which the net fits together, as nothing says which";
    guesses[top] = item;
  }
  return guesses;
}

}  // namespace

Guesses guesses_of_sources(const NetDef& def, const SourceOptions& options) {
  const QuietLog quiet;
  Guesses guesses;
  for (const caffe::LayerParameter& param : def.param.layer()) {
    if (param.bottom_size() > 0) continue;
    try {
      const std::unique_ptr<Layer> layer = make_layer(param);
      auto* source = dynamic_cast<StandIn*>(layer.get());
      if (!source || !source->would_stand_in(options)) continue;
      dynamic_cast<SourceLayer&>(*layer).open(options);
      guesses[{param.name(), 0}] = source->assumed(0);
    } catch (const Error&) {
      // Met again, with its place, when the graph is built.
    }
  }
  return guesses;
}

std::optional<WantedItem> wanted_item(const Graph& graph, const Node& node, const std::vector<Shape>& bottoms) {
  const auto* layer = dynamic_cast<const TellsShapes*>(node.layer.get());
  if (!layer) return std::nullopt;
  // Labels and targets come last, and are what is wrong where scores are right.
  for (size_t i = bottoms.size(); i-- > 0;) {
    const std::optional<Shape> wanted = layer->wanted_bottom(i, bottoms);
    const std::string why = "as layer \"" + node.layer->name() + "\" wants it";
    if (layer->wants_image(i, bottoms)) {
      if (auto item = image_beside(graph, node.bottoms[i], why)) return item;
    }
    if (!wanted) continue;
    if (auto item = followed_back(graph, node.bottoms[i], *wanted, why)) return item;
  }
  return std::nullopt;
}

Guesses guess_items(const Guesses& own, const TryGuesses& try_guesses) {
  const QuietLog quiet;
  Outcome first = with_wishes(try_guesses, {});
  const Guesses images = images_of_any_size(own);
  if (!first.error || first.error->kind() != ErrorKind::kConfig || images.empty()) return first.guesses;
  std::vector<std::pair<int, int>> sizes(kSizes.begin(), kSizes.end());
  if (first.error->field() == "reshape_param.shape") {
    for (const auto& size : sizes_of_lines()) sizes.push_back(size);
  }
  for (const std::pair<int, int>& size : sizes) {
    Outcome other = with_wishes(try_guesses, resized(images, size));
    if (!other.error) return other.guesses;
  }
  return first.guesses;
}

Error with_guesses(const Error& error, const Graph& graph) {
  std::string fix = error.fix();
  for (const Node& node : graph.nodes) {
    const auto* source = dynamic_cast<const StandIn*>(node.source);
    if (!source || !source->stands_in()) continue;
    fix += str(fix.empty() ? "" : "; ", "layer \"", node.layer->name(), "\" has no data: ", source->account());
  }
  if (fix == error.fix()) return error;
  Error told(error.kind(), error.cause(), fix + ". Where this is not what the net is for, make the data first");
  return told.in_field(error.field()).in_layer(error.layer()).at(error.location());
}

}  // namespace robusta
