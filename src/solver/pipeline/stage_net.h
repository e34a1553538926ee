/// One copy of a stage's net, with its ends of channels: the activations of one micro-batch.
#pragma once

#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/pipeline/port.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// Seconds that a stage has spent.
struct StageTimes {
  double working = 0;
  double waiting = 0;  ///< for other stages, within its passes
};

class StageNet {
 public:
  explicit StageNet(std::unique_ptr<Net> net) : owned_(std::move(net)), net_(owned_.get()) {}
  /// The reference is kept.
  explicit StageNet(Net& net) : net_(&net) {}

  /// Its waits are for others of these ranks, which outlive it.
  void wait_as_one_of(const Ranks& ranks) { ranks_ = &ranks; }

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
  /// `sink`: told of gradients as they are complete, or null.
  void backward(const Pass& pass, bool accumulate, StageTimes& times, GradientSink* sink = nullptr);

 private:
  template <typename Work>
  void run(Ports& ports, StageTimes& times, const Work& work);

  template <typename Port>
  void await(std::vector<Port>& ports) const;

  std::unique_ptr<Net> owned_;
  Net* net_;
  const Ranks* ranks_ = nullptr;  ///< null: the other stages are in this process
  Ports forward_, backward_;
};

}  // namespace robusta
