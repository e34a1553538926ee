/// Whether all ranks hold the same, and an error that names those that do not.
#pragma once

#include <cstdint>
#include <string>

#include "solver/ranks/ranks.h"

namespace robusta {

/// Collective. Throws Error{kCommunication} on all ranks, naming `what` of those that differ from most.
void require_equal(Ranks& ranks, const std::string& what, uint64_t hash, const std::string& fix);

}  // namespace robusta
