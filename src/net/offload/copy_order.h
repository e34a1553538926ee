/// Which steps wait for which copies, and copies for which steps.
#pragma once

#include "net/plan/plan.h"

namespace robusta {

/// For every step, which copies it has to wait for, and for every copy which steps (Step::waits): where it reads what
/// another stream writes, and where it writes what another stream may still use. REQUIRES: all values are placed.
void order_copies(Plan& plan);

}  // namespace robusta
