/// A sum over ranks for tests of single kernels.
#pragma once

#include "layers/kit/step_reduce.h"

namespace robusta::test {

/// This rank and one whose values are 5.
class TwoRanks : public StepReduce {
 public:
  int ranks() const override { return 2; }
  void sum(std::span<double> values) override {
    for (double& value : values) value += 5;
    ++sums;
  }
  int sums = 0;
};

}  // namespace robusta::test
