// Over ranks layers are told apart by their index, which is the same on all of them as the nets are.
#include "solver/ranks/model/fit/fit_cuts.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "solver/ranks/model/fit/fit_net.h"
#include "solver/update/update_rule.h"

namespace robusta {
namespace {

/// Why no layer of the training can be cut; "" where some may be.
std::string objection_to_cuts(const SolverDef& solver, const Device& device) {
  if (!device.is_host()) return "layers are cut on the host alone";
  if (solver.param.snapshot_diff()) return "snapshot_diff wants all gradients on one rank";
  if (make_update_rule(solver)->adapts()) {
    return str("solver type ", solver.param.type(), " wants whole layers on each rank");
  }
  return "";
}

/// In parts for each layer; 1: whole.
std::vector<int> parts_of(const NetDef& net, const std::vector<ModelCut>& cuts) {
  std::vector<int> parts(static_cast<size_t>(net.param.layer_size()), 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto cut = std::ranges::find(cuts, net.param.layer(static_cast<int>(i)).name(), &ModelCut::layer);
    if (cut != cuts.end()) parts[i] = cut->parts;
  }
  return parts;
}

std::vector<ModelCut> cuts_in(const NetDef& net, const std::vector<int>& parts, const std::vector<ModelCut>& asked) {
  std::vector<ModelCut> cuts;
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const int count = parts[static_cast<size_t>(i)];
    if (count == 1) continue;
    const std::string& name = net.param.layer(i).name();
    const auto as_asked = std::ranges::find(asked, name, &ModelCut::layer);
    cuts.push_back({name, count, as_asked == asked.end() ? net.source_of(i).where() : as_asked->where});
  }
  return cuts;
}

}  // namespace

FittedCuts fit_cuts(const FitTraining& training, std::vector<ModelCut> asked, const MachineSpeeds& speeds, int ranks) {
  if (const std::string why = objection_to_cuts(training.solver, training.device); !why.empty()) {
    return {std::move(asked), {"no layer is cut, as " + why}};
  }
  const FitProblem problem = fit_problem(*training.plan(), asked, layers_with_wishes(training.net), ranks, speeds,
                                         training.solver.param.iter_size());
  const FitChoice choice = fit(problem);
  std::vector<int> parts;
  for (size_t i = 0; i < choice.size(); ++i) parts.push_back(problem.layers[i].options[choice[i]].parts);
  FittedCuts fitted{cuts_in(training.net, parts, asked), {describe(speeds)}};
  for (std::string& line : describe_fit(problem, choice)) fitted.report.push_back(std::move(line));
  return fitted;
}

std::vector<ModelCut> fitted_cuts(Ranks& ranks, const FitTraining& training, std::vector<ModelCut> asked) {
  std::string why_not;
  ranks.together([&] { why_not = objection_to_cuts(training.solver, training.device); });
  if (!why_not.empty()) {
    LOG_INFO << "Fit: no layer is cut, as " << why_not;
    return asked;
  }
  const FitOptions& options = ranks.options().fit;
  const MachineSpeeds speeds = options.measures() ? measured_speeds(ranks) : assumed_speeds(options, ranks.count());
  std::vector<int> parts = parts_of(training.net, asked);
  ranks.root_only([&] {
    const FittedCuts fitted = fit_cuts(training, asked, speeds, ranks.count());
    for (const std::string& line : fitted.report) LOG_INFO << "Fit: " << line;
    parts = parts_of(training.net, fitted.cuts);
  });
  ranks.broadcast(parts.data(), parts.size() * sizeof(int));
  return cuts_in(training.net, parts, asked);
}

}  // namespace robusta
