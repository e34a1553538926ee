/// Memory that a kernel keeps for itself, aligned for vectors.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace robusta::onednn {

class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(size_t bytes) : bytes_(bytes), data_(std::aligned_alloc(kAlignment, round_up(bytes))) {
    if (!data_) throw std::bad_alloc();
  }
  explicit operator bool() const { return data_ != nullptr; }
  size_t bytes() const { return bytes_; }  ///< that were asked for
  void* data() const { return data_.get(); }
  float* floats() const { return static_cast<float*>(data_.get()); }

 private:
  static constexpr size_t kAlignment = 64;  ///< a cache line, and a vector of AVX-512
  static size_t round_up(size_t bytes) { return (bytes / kAlignment + 1) * kAlignment; }
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  size_t bytes_ = 0;
  std::unique_ptr<void, Free> data_;
};

}  // namespace robusta::onednn
