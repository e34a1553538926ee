/// Several arrays in one piece of memory that a kernel books.
#pragma once

#include <cstddef>

namespace robusta {

/// Offsets within the piece, each aligned for vectors.
class ScratchPlan {
 public:
  size_t add(size_t bytes) {
    const size_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;  ///< so far, a multiple of the alignment
};

inline void* at_offset(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }

}  // namespace robusta
