/// A net as the nets of its stages: each has the layers of its stage, and an Input for each blob that comes from
/// another one.
///
/// After split insertion a blob has one reader, so one that crosses has one sender and one receiver. In the sender's
/// net nobody reads it: it is an output there, whose gradient the receiver writes.
#pragma once

#include <string>
#include <vector>

#include "net/graph/graph.h"
#include "schema/source.h"
#include "tensor/shape.h"

namespace robusta {

/// A blob that one stage makes and a later one reads.
struct Crossing {
  std::string blob;
  Shape shape;
  int from = 0, to = 0;
  bool gradient = false;  ///< comes back
};

struct StageNets {
  std::vector<NetDef> nets;  ///< by stage; one may have no layers
  std::vector<Crossing> crossings;
  std::vector<std::vector<std::string>> inputs;   ///< by stage: layers that stand for what other stages send
  std::vector<std::vector<std::string>> outputs;  ///< by stage: blobs that are outputs of the whole net
};

/// `whole`: of `net`, which gradients are wanted in. `placement`: by place_layers. Throws Error{kUnsupported} with
/// file, line and layer for what cannot be cut: layers that carry states from pass to pass, or whose values change the
/// size of blobs.
StageNets cut_into_stages(const NetDef& net, const Graph& whole, const std::vector<int>& placement, int stages);

}  // namespace robusta
