/// Where snapshots go.
#pragma once

#include <string>

namespace robusta {

/// BVLC's rule: a missing snapshot_prefix becomes the path of the solver's file without its extension, and one that is
/// an existing folder gets "/<file stem>" appended.
std::string complete_prefix(const std::string& prefix, const std::string& solver_file);

}  // namespace robusta
