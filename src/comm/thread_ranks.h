/// Ranks as threads of one process: for tests, and for several learners in one process.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace robusta {

/// Runs body(communicator) on `ranks` threads and joins them. The first error of any rank is rethrown; its peers' calls
/// then end with an error of their own, so that nobody waits for ever. `hosts` > 1 makes believe that the ranks lie on
/// so many hosts, evenly (names "host0", ...), which see no memory of each other.
void run_thread_ranks(int ranks, const std::function<void(Communicator&)>& body, int hosts = 1);

}  // namespace robusta
