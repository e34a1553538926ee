/// The ranks that a test program was started with: one, or those of mpirun.
#pragma once

#include "comm/communicator.h"

namespace robusta::test {

/// Joined when first asked for, left when the program ends.
Communicator& world();

}  // namespace robusta::test
