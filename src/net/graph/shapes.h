/// The shapes of a net's blobs when its sources change theirs.
#pragma once

#include <vector>

#include "net/graph/graph.h"

namespace robusta {

/// What a layer reads.
std::vector<Shape> bottom_shapes(const Graph& graph, const Node& node);

/// Asks every layer for its shapes again (sources may have new ones). Parameters must keep theirs. Where a layer throws
/// (with its name and place) some shapes are new and others are not: restore_shapes.
void infer_shapes(Graph& graph);

using VersionShapes = IdVector<VersionId, Shape>;
VersionShapes shapes_of(const Graph& graph);
/// Back to shapes that infer_shapes has found before, what layers keep of them included. Sources are not asked: they
/// may be ahead of the net.
void restore_shapes(Graph& graph, const VersionShapes& shapes);

}  // namespace robusta
