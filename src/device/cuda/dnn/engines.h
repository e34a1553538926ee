/// The ways in which cuDNN can compute a graph.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/dnn/graph.h"
#include "device/device.h"

namespace robusta::dnn {

/// An engine with its settings; whether it really serves shows when a plan is made of it.
struct Engine {
  Descriptor config;
  std::string name;  ///< "eng4_k2=1_k13=0": the same for the same engine of one version of cuDNN; no blanks
};

/// At most `most` of those that the rules allow, as cuDNN's heuristics rank them; where these have none, of those that
/// it falls back to, which are slow and want little. Engines that round their input to 16 bits, or whose Winograd tiles
/// are too large to be exact to four digits, are left out always. Throws what check_dnn throws.
std::vector<Engine> find_engines(const Target& target, const Graph& graph, const MathOptions& rules, size_t most);

}  // namespace robusta::dnn
