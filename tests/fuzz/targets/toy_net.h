/// A net for files of models and states to be read into.
#pragma once

#include <memory>

#include "solver/toy_solver.h"

namespace robusta::fuzz {

/// tests/solver/toy_solver.h's, with momentum; one for all inputs.
inline Solver& toy_solver() {
  static const std::unique_ptr<Solver> solver = test::toy("momentum: 0.9 max_iter: 4 snapshot_prefix: 'toy'");
  return *solver;
}

}  // namespace robusta::fuzz
