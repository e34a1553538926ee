/// Several learners in one process: `caffe train -gpu 0,1`.
#pragma once

#include <functional>

#include "solver/ranks/ranks.h"

namespace robusta {

/// Runs `body` on so many threads, each a rank, and returns rank 0's exit code. The first error of any is thrown; the
/// others have ended by then. Rank 0 alone logs.
int run_learners(int learners, const DdlOptions& options, const std::function<int(Ranks&)>& body);

}  // namespace robusta
