/// What becomes of a net whose layers are cut: whether it can be trained so, and what it sends.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"
#include "solver/ranks/model/model_ranks.h"

namespace robusta {

/// What ranks cannot do beside, said before the net is built. Throws Error{kConfig|kUnsupported} at the line that asks
/// for the first cut.
void check_cut_training(const std::vector<ModelCut>& cuts, const DdlOptions& options, const Device& device);

/// Where a cut layer has no batch of one size on all ranks, or shares its parameters with another layer. Throws
/// Error{kConfig} with layer, file and line.
void check_cut_net(const Net& net, const ModelRanks& model);

/// What a rank sends for a cut layer.
struct CutTraffic {
  double activations = 0;    ///< bytes per pass: inputs, outputs, and their gradients
  double gradients = 0;      ///< bytes per iteration, of its part of the parameters
  double data_parallel = 0;  ///< bytes per iteration that the gradients of all its parameters would take uncut
};
CutTraffic traffic_of(const Net& net, const ModelCut& cut, int ranks);

/// A line for the log for each cut layer.
std::vector<std::string> describe_cuts(const Net& net, const ModelRanks& model, int ranks);

}  // namespace robusta
