/// Layers that are cut among ranks which are not there: what `caffe plan -ranks N` plans for one of them.
#pragma once

#include <map>
#include <ostream>

#include "app/flags/options.h"
#include "app/setup/chosen_net.h"
#include "layers/kit/planned_group.h"
#include "net/options.h"
#include "solver/ranks/model/model_cuts.h"

namespace robusta {

class PlannedCuts {
 public:
  /// As the net's fields say, and `-fit`, whose report is printed. Throws what training would, and Error{kUsage} where
  /// `-fit` is to measure.
  PlannedCuts(const Options& options, const ChosenNet& chosen, const NetOptions& net_options, std::ostream& out);

  /// For NetOptions::model_groups, as long as this lives.
  std::map<std::string, ModelGroup*> groups();
  /// Checks the net that was planned with them, and prints what each cut sends.
  void describe(const Net& net, std::ostream& out) const;

 private:
  const int ranks_;
  std::vector<ModelCut> cuts_;
  std::map<int, PlannedGroup> groups_;  ///< by parts
};

}  // namespace robusta
