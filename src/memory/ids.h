/// What steps and blocks of memory are called.
#pragma once

#include "base/id.h"

namespace robusta {

/// A step of a pass. Steps run, or are enqueued, in the order of their ids.
using StepId = Id<struct StepTag>;
/// A MemoryBlock of a ResidencyProblem.
using BlockId = Id<struct BlockTag>;

}  // namespace robusta
