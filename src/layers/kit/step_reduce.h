/// Sums over the ranks of a training, inside a step.
///
/// Gradients are averaged after backward, and the mean of per-rank means is the global mean only where every rank
/// divides by the same count. The few layers that would not (a loss over valid labels, synchronised BatchNorm) ask
/// here.
#pragma once

#include <span>

namespace robusta {

class StepReduce {
 public:
  virtual ~StepReduce() = default;
  virtual int ranks() const = 0;
  /// Replaces each value by its sum over the ranks, with the same bits on each. Every rank calls it in the same order.
  virtual void sum(std::span<double> values) = 0;
};

}  // namespace robusta
