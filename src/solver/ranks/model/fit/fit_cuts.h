/// `-fit`: the cuts of a training's net, as a model of its iteration says that they are fastest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/net.h"
#include "schema/source.h"
#include "solver/ranks/model/fit/fit_links.h"
#include "solver/ranks/model/model_cuts.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// What is to be trained.
struct FitTraining {
  const SolverDef& solver;
  const NetDef& net;  ///< filtered for its phase
  const Device& device;
  std::function<std::unique_ptr<Net>()> plan;  ///< makes a net to look at, uncut
};

struct FittedCuts {
  std::vector<ModelCut> cuts;
  std::vector<std::string> report;  ///< lines: speeds, a table, and what comes of it
};

/// Those `asked` by the prototxt, whose layers stay as it says, and those that the model chooses beside. Throws what
/// `plan` throws.
FittedCuts fit_cuts(const FitTraining& training, std::vector<ModelCut> asked, const MachineSpeeds& speeds, int ranks);

/// The same over ranks, with links as their options say: rank 0 decides, and logs why. Collective. REQUIRES: several
/// ranks.
std::vector<ModelCut> fitted_cuts(Ranks& ranks, const FitTraining& training, std::vector<ModelCut> asked);

}  // namespace robusta
