/// Host memory of which a page takes room from when it is first written until its content is given up.
///
/// For arrays that lie whole in the address space though most of the time only a part of them is there: what the ranks
/// of a training share out (layers/kit/model_group.h).
#pragma once

#include <cstddef>

namespace robusta {

class SparseMemory {
 public:
  /// Reads as zeros, and is aligned as memory of the host's device is. Throws Error{kMemory}.
  explicit SparseMemory(size_t bytes);
  ~SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// The content of this range is wanted no more: its whole pages take no room until they are written again, and read
  /// as zeros; what shares a page with bytes outside of the range stays. Both are bytes from data() on.
  void give_up(size_t begin, size_t end) const;
  /// Bytes of the pages that take room now, and of those that were read before they were written, which take none.
  size_t resident() const;

 private:
  void* block_ = nullptr;  ///< what was taken of the address space, with room to align
  void* data_ = nullptr;
  size_t block_bytes_ = 0, bytes_ = 0;
};

}  // namespace robusta
