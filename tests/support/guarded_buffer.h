/// Memory that tells on careless kernels: it starts as NaN, and a write past either end is found.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "device/device.h"

namespace robusta::test {

/// 64-byte aligned. No bytes: a null pointer.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// Of host memory that `device` can reach as well.
  explicit GuardedBuffer(size_t bytes, Device& device = cpu_device()) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_ = device.host_memory(bytes + 2 * kGuard);
    base_ = static_cast<unsigned char*>(memory_.get());
    std::memset(base_, kMark, kGuard);
    std::memset(base_ + kGuard + bytes, kMark, kGuard);
    poison();
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : memory_(std::move(other.memory_)),
        base_(std::exchange(other.base_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const { return base_ ? base_ + kGuard : nullptr; }
  size_t bytes() const { return bytes_; }
  /// All bits set is a NaN in f32 and in f64.
  void poison() {
    if (base_) std::memset(base_ + kGuard, 0xff, bytes_);
  }
  /// True while nobody has written outside.
  bool intact() const {
    if (!base_) return true;
    for (size_t i = 0; i < kGuard; ++i) {
      if (base_[i] != kMark || base_[kGuard + bytes_ + i] != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr unsigned char kMark = 0xa5;
  std::shared_ptr<void> memory_;
  unsigned char* base_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace robusta::test
