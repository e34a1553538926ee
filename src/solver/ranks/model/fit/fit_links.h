/// What `-fit` knows of the machine: how fast ranks exchange and sum, and how fast one computes.
#pragma once

#include "net/memory_options.h"
#include "solver/ranks/model/fit/fit.h"
#include "solver/ranks/ranks.h"

namespace robusta {

struct MachineSpeeds {
  FitLinks links;
  MachineRates rates;
};

/// Measured among all ranks, in about a second; or, where they have been measured on these hosts before, as they were
/// then: so the same job is cut the same way again, and repeats its bits. Collective; the same on all ranks.
/// REQUIRES: several ranks.
MachineSpeeds measured_speeds(Ranks& ranks);

/// With links as the options say, and a processor as they are today: the same wherever it is asked.
MachineSpeeds assumed_speeds(const FitOptions& options, int ranks);

/// "a sum over all ranks 0.05 ms + 1.2 GB/s, ..."
std::string describe(const MachineSpeeds& speeds);

}  // namespace robusta
