// A rank has the first part of each layer: all parts are of one size.
#include "app/setup/planned_cuts.h"

#include "solver/ranks/model/cut_net.h"
#include "solver/ranks/model/fit/fit_cuts.h"

namespace robusta {
namespace {

void require_links(const FitOptions& fit) {
  if (!fit.measures()) return;
  throw Error(ErrorKind::kUsage, "-ddl: -fit auto measures links between ranks, and a plan has none",
              "say how fast they are, in GB/s and microseconds: -fit 1.2:50");
}

}  // namespace

PlannedCuts::PlannedCuts(const Options& options, const ChosenNet& chosen, const NetOptions& net_options,
                         std::ostream& out)
    : ranks_(options.ranks()) {
  const DdlOptions ddl = parse_ddl_options(options.ddl());
  if (!net_options.backward || ranks_ == 1) return;
  cuts_ = model_cuts(chosen.net, ranks_);
  check_cut_training(cuts_, ddl, *net_options.device);
  if (ddl.fit.asked) {
    require_links(ddl.fit);
    const auto plan = [&] {
      NetOptions uncut = net_options;
      uncut.tuner = nullptr;
      return std::make_unique<Net>(chosen.net, uncut);
    };
    FittedCuts fitted = fit_cuts({chosen.solver, chosen.net, *net_options.device, plan}, std::move(cuts_),
                                 assumed_speeds(ddl.fit, ranks_), ranks_);
    for (const std::string& line : fitted.report) out << "Fit: " << line << "\n";
    cuts_ = std::move(fitted.cuts);
  }
  for (const ModelCut& cut : cuts_) groups_.try_emplace(cut.parts, cut.parts);
}

std::map<std::string, ModelGroup*> PlannedCuts::groups() {
  std::map<std::string, ModelGroup*> groups;
  for (const ModelCut& cut : cuts_) groups[cut.layer] = &groups_.at(cut.parts);
  return groups;
}

void PlannedCuts::describe(const Net& net, std::ostream& out) const {
  check_cut_net(net, cuts_);
  for (const std::string& line : describe_cuts(net, cuts_, ranks_)) out << line << "\n";
}

}  // namespace robusta
