/// When the copies of a residency run, and what they cost. Internal to plan_residency.
///
/// Copies out run one after the other, copies in too, beside the steps. Both engines and the steps keep their order;
/// that makes a pass predictable in one walk over its steps.
#pragma once

#include <vector>

#include "memory/residency.h"

namespace robusta {

/// Lets memory be held by copies out for as long as they take, and be taken for copies in as early as they have to
/// begin, where no more than `limit` bytes are alive then. `alive`: bytes per step with neither; updated.
void widen_copies(const ResidencyProblem& problem, std::vector<Absence>& absences, IdVector<StepId, size_t>& alive,
                  size_t limit);

/// Seconds for which steps wait for copies in one pass.
double exposed_seconds(const ResidencyProblem& problem, const std::vector<Absence>& absences);

}  // namespace robusta
