/// Where the ranks of a pipeline have the parameters of the whole net.
#pragma once

#include <vector>

#include "net/net.h"
#include "solver/pipeline/cut_nets.h"

namespace robusta {

/// Of a parameter of the whole net: its stage, and its number among the parameters of that.
struct ParamPlace {
  ParamId whole;
  size_t stage = 0;
  ParamId own;
};

/// In the order of the whole net's parameters, of which those of a stage are in the same order in its net.
std::vector<ParamPlace> param_places(const Net& whole, const std::vector<int>& placement, size_t stages);

}  // namespace robusta
