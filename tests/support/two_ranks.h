/// Sums over two ranks, where only one computes.
#pragma once

#include <span>

#include "layers/kit/step_reduce.h"

namespace robusta::test {

class WithAnotherRank : public StepReduce {
 public:
  int ranks() const override { return 2; }
  void sum(std::span<double> values) override {
    for (double& value : values) value += of_other(value);
    ++sums;
  }
  int sums = 0;

 private:
  /// What the other rank has where this one has `own`.
  virtual double of_other(double own) const = 0;
};

/// This rank and one whose values are 5.
class TwoRanks : public WithAnotherRank {
  double of_other(double) const override { return 5; }
};

/// This rank and one that has seen the same.
class Twice : public WithAnotherRank {
  double of_other(double own) const override { return own; }
};

}  // namespace robusta::test
