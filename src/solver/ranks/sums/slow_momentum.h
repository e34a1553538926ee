/// Momentum of the steps that averages of the weights are (Wang, Tantia, Ballas and Rabbat 2020, "SlowMo: Improving
/// Communication-Efficient Distributed SGD with Slow Momentum", algorithm 1, with a slow learning rate of 1).
///
/// With the weights x that the ranks began with, their average y after some local steps, and the rate of these:
///
///   u <- beta u + (x - y) / rate,   x <- x - rate u
///
/// All ranks have the same x and u, and compute the same. Arrays lie in the memory of the host. One thread at a time.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "net/net.h"

namespace robusta {

class SlowMomentum {
 public:
  /// Of the parameters with a gradient. The net is kept by reference.
  SlowMomentum(Net& net, double beta);

  /// The weights of now are the ones that the next step begins with. REQUIRES: they are the same on all ranks.
  void begin();
  bool begun() const { return begun_; }
  /// `weights`: averages of the parameter, in the memory of the host; becomes what the parameter will be.
  void step(const Param& param, void* weights, double rate);

  /// u of all parameters, in the order of the net.
  std::vector<float> values() const;
  /// What does not fit the net is passed over, with a warning.
  void set_values(const std::vector<float>& values);

 private:
  struct Arrays {
    std::vector<std::byte> begin, momentum;  ///< x, u: of the parameter's type
  };

  Net& net_;
  const double beta_;
  std::vector<const Param*> params_;
  std::unordered_map<const Param*, Arrays> arrays_;
  bool begun_ = false;
};

}  // namespace robusta
