/// What becomes of a net whose layers are cut: whether it can be trained so, and what it sends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/ddl_options.h"
#include "net/net.h"
#include "solver/ranks/model/model_cuts.h"

namespace robusta {

/// What ranks cannot do beside, said before the net is built. Throws Error{kConfig|kUnsupported} at the line that asks
/// for the first cut.
void check_cut_training(const std::vector<ModelCut>& cuts, const DdlOptions& options, const Device& device);

/// Where a cut layer has no batch of one size on all ranks, or shares its parameters with another layer. Throws
/// Error{kConfig} with layer, file and line.
void check_cut_net(const Net& net, const std::vector<ModelCut>& cuts);

/// Why a layer of a net cannot be cut, whatever its type and fields.
struct CutObjection {
  std::string cause, fix;
};
std::optional<CutObjection> objection_in_net(const Net& net, const Node& node);

/// What a rank sends for a cut layer.
struct CutTraffic {
  double inputs = 0, outputs = 0;  ///< bytes to each other rank of the group, forward; their gradients are as many
  double activations = 0;          ///< bytes per pass: inputs, outputs, and their gradients
  double gradients = 0;            ///< bytes per iteration, of its part of the parameters
  double data_parallel = 0;        ///< bytes per iteration that the gradients of all its parameters would take uncut
};
CutTraffic traffic_of(const Net& net, const ModelCut& cut, int ranks);
/// The same of a layer that may be cut, in more than one part. REQUIRES: a CutByOutputs.
CutTraffic traffic_of(const Net& net, const Node& node, int parts, int ranks);
/// Bytes that a rank sends where a sum over so many is a reduce-scatter and an all-gather.
double bytes_of_sum(double bytes, int ranks);

/// A line for the log for each cut layer.
std::vector<std::string> describe_cuts(const Net& net, const std::vector<ModelCut>& cuts, int ranks);

}  // namespace robusta
