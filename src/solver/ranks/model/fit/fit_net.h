/// The layers of a net as `-fit` sees them: which may be cut, into what, and what each way costs.
#pragma once

#include <vector>

#include "net/net.h"
#include "solver/ranks/model/fit/fit_links.h"
#include "solver/ranks/model/model_cuts.h"

namespace robusta {

/// Of a net that is planned and not cut. Layers that a prototxt says something of (`settled`, by index) stay as that
/// says, in the parts of `asked`, as do those that cannot be cut: by their type or fields, as they share parameters, or
/// as their batch varies. `passes`: of an iteration.
FitProblem fit_problem(const Net& net, const std::vector<ModelCut>& asked, const std::vector<int>& settled, int ranks,
                       const MachineSpeeds& speeds, int passes);

}  // namespace robusta
