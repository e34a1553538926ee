/// Nets under a memory budget, for tests of large model support.
#pragma once

#include <string>

#include "net/net.h"

namespace robusta::test {

/// Device memory that every test net fits in.
constexpr size_t kPlenty = size_t{1} << 36;

/// The training net of a folder of models/, with made-up data.
NetDef model_def(const std::string& model);

/// Options for a device, nothing moved. `batch` > 0: samples.
NetOptions resident_options(Device& device, int64_t batch = 0);

/// The same with -lms auto and a budget that leaves, beside parameters and persistent values, this much for the arena.
NetOptions with_arena(NetOptions options, const Net& resident, size_t bytes);

/// The smallest arena that -lms auto can make of this net; `resident` is the same net without it.
size_t least_arena(const Net& resident);

/// with_arena(): so much from the least to what the resident net has, as a share of 1.
NetOptions with_share(const NetOptions& options, const Net& resident, double share);

/// What the net takes beside its arena.
size_t fixed_memory(const Net& net);

}  // namespace robusta::test
