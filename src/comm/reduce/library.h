/// The communicator's own all-reduce, for -mode m.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/reduce/reduction.h"

namespace robusta {

std::unique_ptr<AllReduce> make_library_all_reduce(Communicator& world);

}  // namespace robusta
