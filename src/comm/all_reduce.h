/// Makes the sum of gradients over all ranks that a communicator, a topology and the options of -ddl ask for.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/ddl_options.h"
#include "comm/reduce/reduction.h"
#include "comm/topology.h"

namespace robusta {

/// Collective. `memory` is where most of the data to reduce lies (may be null): ranks of a
/// host then read each other's part in place. Throws Error{kUsage|kMemory}.
std::unique_ptr<AllReduce> make_all_reduce(Communicator& world, const Topology& topology, const DdlOptions& options,
                                           std::shared_ptr<SharedMemory> memory, size_t largest_bytes);

}  // namespace robusta
