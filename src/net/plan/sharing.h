/// Which values of a plan share memory, and where each lies. In this order: share, keep, place what persists, place the
/// rest.
#pragma once

#include "net/plan/plan.h"

namespace robusta {

/// Lets values share memory where `aliases` of the kernels and the lifetimes allow it.
void share_storage(Plan& plan, bool share_memory);

/// Lets all that backward reads of forward outlive the pass: backward may then be run again, and in parts.
void keep_for_backward(Plan& plan);

/// Places what outlives the pass, one beside the other.
void place_persistent(Plan& plan);

/// Places all other values by their lifetimes, in `share_memory` or side by side.
void place_transient(Plan& plan, bool share_memory);

}  // namespace robusta
