/// Which contents leave a device's memory during a pass, and when they come back: a pure function.
///
/// The steps of a pass, and what each of them uses, are known before anything runs. So the choice is made with the
/// future in sight, as Belady's ("A study of replacement algorithms", 1966): what is needed furthest in the future goes
/// first, weighed by the memory that it frees where memory is short and by the time of its transfer. A content comes
/// back by a copy from the host, early enough to hide the copy where there is room for it, or by running again the step
/// that made it, where that is cheaper (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").
#pragma once

#include "memory/residency.h"

namespace robusta {

/// The cheapest plan found whose arena is within the budget; when none is, the one with the smallest arena. Empty of
/// absences when all fits within the goal. Deterministic.
Residency plan_residency(const ResidencyProblem& problem);

}  // namespace robusta
