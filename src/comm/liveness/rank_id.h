/// What the ranks of the job under watch are called.
#pragma once

#include "base/id.h"

namespace robusta::liveness {

/// A rank of the job, by its number in the communicator of all.
using RankId = Id<struct RankTag>;

}  // namespace robusta::liveness
