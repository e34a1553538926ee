/// An array of a parameter of which each rank has a part.
#pragma once

#include <vector>

#include "base/element_range.h"
#include "layers/kit/param.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// The whole array on rank 0, nothing on the others. `own`: this rank's values, of the elements `part`; the parts of
/// all ranks make up the parameter. Collective.
std::vector<float> whole_of_parts(Ranks& ranks, const Param& param, const ElementRange& part,
                                  const std::vector<float>& own);

}  // namespace robusta
