/// Findings in files that toolchains are to read, with nothing written.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "schema/source.h"

namespace robusta::deploy {

/// Prints a line for each finding in these nets (texts) and weights (all else), told by what they hold, and returns the
/// exit code: 0 for none, warnings or notes; 2 for what `deploy` mends in nets; 4 for what it mends in weights; 9 for
/// what it refuses. A net is also compared with its weights, layer by layer: all that are given beside a single net,
/// else those that are called like it. Throws where a file cannot be read.
int lint(const std::vector<std::string>& files, uint32_t toolchains, const caffe::NetState& state, std::ostream& out);

}  // namespace robusta::deploy
