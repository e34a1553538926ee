/// What a trainer hears of a pass while it runs.
#pragma once

#include "device/device.h"
#include "layers/kit/param.h"

namespace robusta {

/// Told when a parameter's gradient is complete: all layers that share it have added their part. The trainer implements
/// it (and may start to communicate or update at once); called in the plan's order, which is the same on every rank.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void ready(Param& param) = 0;
  /// Told before the first step of a backward pass that writes the parameter's gradient, in that order: the place to
  /// wait for whoever has had its memory before.
  virtual void begins(Param& param) {}
  /// Whether `ready` of this parameter starts something that the steps behind it run beside. Where it does not, it may
  /// be called later, when more of them are enqueued.
  virtual bool urgent(const Param& param) const { return true; }
};

/// Asked before a forward step reads a parameter, on the driving thread: the place to wait for an update that is still
/// under way.
class ParamGate {
 public:
  virtual ~ParamGate() = default;
  virtual void need(Param& param) = 0;
};

/// Work of a trainer's that a forward pass begins with, within its first recording: the update that the last iteration
/// has left. What it enqueues is the same each time but for what it finds in the device's memory.
class PassPrelude {
 public:
  virtual ~PassPrelude() = default;
  virtual void enqueue(Stream& stream) = 0;
  /// It has been enqueued in this pass, by the call above or as it was recorded.
  virtual void begun() = 0;
};

}  // namespace robusta
