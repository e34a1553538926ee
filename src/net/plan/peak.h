/// Where a plan takes most of its arena.
#pragma once

#include <vector>

#include "net/plan/plan.h"

namespace robusta {

struct Peak {
  StepId step;                  ///< none: the plan has no steps
  std::vector<ValueId> values;  ///< those with memory of their own that are alive then, largest first
};

Peak peak_of(const Plan& plan);

}  // namespace robusta
