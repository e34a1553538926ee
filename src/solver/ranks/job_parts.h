/// What jobs of fixed ranks and elastic ones have in common (job.cpp, elastic_job.cpp).
#pragma once

#include <functional>

#include "comm/liveness/liveness_watch.h"
#include "robusta/error.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// An error of the job, printed by the rank that has it.
void report(const Communicator& world, const Error& error);

/// Runs `body` with the ranks of `world`. Throws what all ranks throw; of any other error the watch makes an end.
int run_watched(Communicator& world, const DdlOptions& options, LivenessWatch& watch,
                const std::function<int(Ranks&)>& body, Elastic* elastic = nullptr);

}  // namespace robusta
