/// One copy of a stage's net, with its ends of channels: the activations of one micro-batch.
#pragma once

#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/pipeline/port.h"

namespace robusta {

/// Seconds that a stage has spent.
struct StageTimes {
  double working = 0;
  double waiting = 0;  ///< for other stages, within its passes
};

class StageNet {
 public:
  explicit StageNet(std::unique_ptr<Net> net) : net_(std::move(net)) {}

  Net& net() { return *net_; }

  /// What comes before a pass, and goes behind it.
  struct Ports {
    std::vector<Inlet> in;
    std::vector<Outlet> out;
  };
  Ports& forward_ports() { return forward_; }
  Ports& backward_ports() { return backward_; }

  /// Returns the loss of this stage's layers. Both return when the device is done, and may throw PipelineBroken.
  double forward(const Pass& pass, StageTimes& times);
  void backward(const Pass& pass, bool accumulate, StageTimes& times);

 private:
  template <typename Work>
  void run(Ports& ports, StageTimes& times, const Work& work);

  std::unique_ptr<Net> net_;
  Ports forward_, backward_;
};

}  // namespace robusta
