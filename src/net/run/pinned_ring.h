/// Page-locked memory of the host that is filled and copied to a device again and again.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "device/device.h"
#include "memory/placement.h"

namespace robusta {

/// Pieces of it in turn: while one is copied the next one is written. One thread.
class PinnedRing {
 public:
  /// `bytes`: of a piece. Throws Error{kMemory}.
  PinnedRing(Device& device, size_t bytes) : bytes_(align_up(bytes)), memory_(device.host_memory(bytes_ * kPieces)) {}
  /// A piece that no copy reads any more; blocks until there is one.
  char* next() {
    at_ = (at_ + 1) % kPieces;
    if (busy_[at_] && !busy_[at_]->reached()) busy_[at_]->wait();
    busy_[at_] = nullptr;
    return static_cast<char*>(memory_.get()) + at_ * bytes_;
  }
  /// The piece given last is read until then.
  void busy_until(std::shared_ptr<Event> copied) { busy_[at_] = std::move(copied); }

 private:
  static constexpr size_t kPieces = 2;
  size_t bytes_, at_ = 0;
  std::shared_ptr<void> memory_;
  std::array<std::shared_ptr<Event>, kPieces> busy_;  ///< reached when a piece may be written again
};

}  // namespace robusta
