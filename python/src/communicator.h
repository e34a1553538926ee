/// caffe.Communicator: ranks, for scripts that mpirun has started.
#pragma once

#include <memory>

#include "guard.h"
#include "robusta/communicator.h"

namespace robusta::python {

struct Ranks {
  explicit Ranks(Communicator made) : communicator(std::move(made)) {}
  Guard guard;
  Communicator communicator;
};

void add_communicator(pybind11::module_& module);

}  // namespace robusta::python
