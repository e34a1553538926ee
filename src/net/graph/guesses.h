/// What the items of absent data look like, inferred from what the net does with them, so that a net is planned and
/// timed without its data.
///
/// Sources guess first (kit/stand_in.h). Layers then say which shapes they want of their bottoms (kit/tells_shapes.h),
/// and what one wants is followed back to where it comes from: labels take the places of scores, targets the shape of
/// predictions, channels the number that Slice parts, further images the shape of the first. Where the net does not fit
/// together even so, other sizes of images are tried, those of published nets, and of lines of text where a Reshape is
/// what does not fit, if the prototxt says none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layers/kit/stand_in.h"
#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

/// By layer and top.
using Guesses = std::map<std::pair<std::string, int>, AssumedItem>;

/// Thrown by a try that asks: the net wants other items than were guessed.
struct WantedItem {
  std::string layer;
  int top = 0;
  AssumedItem item;
};

/// What sources guess of their first tops where their data are absent. Layers that cannot be made have none.
Guesses guesses_of_sources(const NetDef& def, const SourceOptions& options);

/// What the node wants of bottoms that come from a source that stands for absent data.
std::optional<WantedItem> wanted_item(const Graph& graph, const Node& node, const std::vector<Shape>& bottoms);

/// Builds the graph with these guesses. `asking`: throws the first WantedItem that a layer has. Throws Error where the
/// net does not fit together.
using TryGuesses = std::function<Graph(const Guesses& guesses, bool asking)>;

/// The guesses with which the net fits together; where there are none, those of the sources and layers. `own`: those of
/// the sources. Logs nothing.
Guesses guess_items(const Guesses& own, const TryGuesses& try_guesses);

/// An error of a net that was built so far, with what its sources stand for as a part of its fix.
Error with_guesses(const Error& error, const Graph& graph);

}  // namespace robusta
