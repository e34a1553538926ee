/// The net that `time` and `plan` look at: that of -model, or a solver's train net.
#pragma once

#include <string>

#include "app/flags/options.h"
#include "schema/source.h"

namespace robusta {

struct ChosenNet {
  NetDef net;
  SolverDef solver;  ///< for the update: the one given, else SGD with momentum
  caffe::Phase phase = caffe::TRAIN;
};

/// From -model, -solver, -phase, -level and -stage. `action` is named in errors.
ChosenNet choose_net(const Options& options, const std::string& action);

}  // namespace robusta
