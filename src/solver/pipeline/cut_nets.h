/// The nets of a training - one that is trained, and test nets - cut into the same stages.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"
#include "solver/pipeline/placement.h"
#include "solver/pipeline/stage_nets.h"

namespace robusta {

/// A net and what it was built of.
struct WholeNet {
  Net& net;
  NetDef def;
};

struct CutNet {
  StageNets pieces;
  std::vector<int> placement;  ///< the stage of each layer

  /// What the net of a stage sends and is sent, as its options name it.
  void add_gradients(size_t stage, NetOptions& options) const;
};

struct CutNets {
  CutNet train;
  std::vector<CutNet> tests;
};

/// Throws Error{kConfig|kUnsupported} with file, line
/// and layer for what is no pipeline of so many stages.
CutNets cut_nets(const WholeNet& train, const std::vector<WholeNet>& tests, int stages, StagesAre where);

/// "conv1 to pool2": the layers of a stage, without those that stand for what other stages send.
std::string layers_of(const StageNets& pieces, size_t stage);

}  // namespace robusta
