/// Grids of ranks: X x Y x Z x W, X within a host.
#pragma once

#include <string>
#include <vector>

namespace robusta {

/// The grid of as many dims and `ranks` ranks that differs least from `dims`.
std::vector<int> nearest_dims(const std::vector<int>& dims, int ranks);

/// "4x2x1"
std::string dims_text(const std::vector<int>& dims);

}  // namespace robusta
