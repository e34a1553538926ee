/// Memory that the passes of several nets use in turn.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace robusta {

/// Memory for values that live within one pass. Nets that never run at the same time (train and test nets of one
/// solver) share one; it has the size of the largest.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}
  /// Makes the arena at least this large. What it held is lost, and its address may change. Throws Error{kMemory}; it
  /// then has the size that it had, or none.
  void reserve(size_t bytes) {
    const size_t before = buffer_.bytes();
    if (bytes <= before) return;
    for (const auto& copy : under_way_) copy->wait();
    under_way_.clear();
    buffer_.reset();
    try {
      buffer_ = DeviceBuffer(device_, bytes);
    } catch (...) {
      buffer_ = DeviceBuffer(device_, before);
      throw;
    }
  }
  void* data() const { return buffer_.data(); }
  size_t bytes() const { return buffer_.bytes(); }

  /// A copy to or from the arena that is still under way when a pass ends: whoever uses the arena next waits for it.
  void leave_under_way(std::shared_ptr<Event> copy) { under_way_.push_back(std::move(copy)); }
  void wait_in(Stream& stream) {
    for (const auto& copy : under_way_) stream.wait(copy);
    under_way_.clear();
  }

 private:
  Device& device_;
  DeviceBuffer buffer_;
  std::vector<std::shared_ptr<Event>> under_way_;  ///< of streams that may still be at work here
};

}  // namespace robusta
