/// Memory that tells on careless kernels: it starts as NaN, and a write past either end is found.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace robusta::test {

/// 64-byte aligned. No bytes: a null pointer.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  explicit GuardedBuffer(size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    base_ = static_cast<unsigned char*>(::operator new (bytes + 2 * kGuard, std::align_val_t{kGuard}));
    std::memset(base_, kMark, kGuard);
    std::memset(base_ + kGuard + bytes, kMark, kGuard);
    poison();
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GuardedBuffer() {
    if (base_) ::operator delete (base_, std::align_val_t{kGuard});
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
  unsigned char* base_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace robusta::test
