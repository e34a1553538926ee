/// caffe.Communicator: ranks, for scripts that mpirun has started.
#pragma once

#include <memory>

#include "guard.h"
#include "robusta/communicator.h"

namespace robusta::python {

struct Ranks {
  explicit Ranks(Communicator made) : communicator(std::move(made)) {}
  /// After fork the connections are the parent's: they stay.
  ~Ranks() {
    if (!guard->here()) new Communicator(std::move(communicator));
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::shared_ptr<Guard> guard = std::make_shared<Guard>();
  Communicator communicator;
};

void add_communicator(pybind11::module_& module);

}  // namespace robusta::python
