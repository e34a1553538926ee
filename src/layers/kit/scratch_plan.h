/// Several arrays in one piece of memory that a kernel books.
#pragma once

#include <cstddef>
#include <cstdint>

namespace robusta {

inline void* at_offset(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }

/// An array for each of several threads.
struct WorkerScratch {
  size_t at = 0, bytes = 0;  ///< of the first one; of each

  template <typename T>
  T* of(int64_t worker, void* scratch) const {
    return static_cast<T*>(at_offset(scratch, at + static_cast<size_t>(worker) * bytes));
  }
};

/// Offsets within the piece, each aligned for vectors.
class ScratchPlan {
 public:
  size_t add(size_t bytes) {
    const size_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  WorkerScratch add_for_each(int64_t workers, size_t bytes) {
    const size_t each = (bytes + 63) / 64 * 64;
    return {add(static_cast<size_t>(workers) * each), each};
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;  ///< so far, a multiple of the alignment
};

}  // namespace robusta
