/// Averages of the weights over all ranks, where gradients are summed over a part of them alone: local SGD.
#pragma once

#include <vector>

namespace robusta {

class PeriodicAverage {
 public:
  virtual ~PeriodicAverage() = default;
  /// Over how many ranks gradients, and the votes of most rounds, are summed.
  virtual int group() const = 0;
  /// Driver, before a round: whether buckets of weights will follow in it. The votes of such a round are of all ranks.
  virtual void plan_round(bool averages) = 0;
  /// Driver, before it completes the first bucket of weights: the rate of the updates since the last average.
  virtual void set_rate(double rate) = 0;
  /// Between rounds: all ranks get the average. Collective.
  virtual void average_now() = 0;

  /// Of each parameter with a gradient, in the order of the net; empty where there is none. Between rounds.
  virtual std::vector<float> slow_momentum() const = 0;
  virtual void set_slow_momentum(const std::vector<float>& values) = 0;
};

}  // namespace robusta
