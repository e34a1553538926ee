/// Two ranks in one, for what a layer asks of all of them in a pass.
#pragma once

#include <span>

#include "layers/kit/step_reduce.h"

namespace robusta::test {

/// This rank, and one that has seen the same.
class Twice : public StepReduce {
 public:
  int ranks() const override { return 2; }
  void sum(std::span<double> values) override {
    for (double& value : values) value *= 2;
    ++sums;
  }
  int sums = 0;
};

}  // namespace robusta::test
