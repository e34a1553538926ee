/// What units and values are called within one plan.
#pragma once

#include "memory/ids.h"
#include "net/graph/ids.h"

namespace robusta {

/// One layer, or a chain that one kernel computes.
using UnitId = Id<struct UnitTag>;
/// Something with memory.
using ValueId = Id<struct ValueTag>;

}  // namespace robusta
