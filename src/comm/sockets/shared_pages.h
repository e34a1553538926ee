/// Memory that processes of one host see of each other, without a name in any file system: nothing is left behind when
/// they are killed.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/descriptor.h"

namespace robusta::sockets {

/// Where another process finds it; sent as it lies in memory.
struct PagesKey {
  int pid = 0, descriptor = -1;  ///< -1: there was no memory
  std::array<char, 40> name{};   ///< with random digits: tells another process of the same number
};

/// A mapping of shared memory, this process's own or another's.
class SharedPages {
 public:
  /// Zeroed. Null: no memory.
  static std::unique_ptr<SharedPages> make(size_t bytes);
  /// Null: it is not there, or not for this user.
  static std::unique_ptr<SharedPages> of(const PagesKey& key, size_t bytes);
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  void* data() const { return data_; }
  const PagesKey& key() const { return key_; }
  /// Others who have not opened it cannot any more.
  void close_door() { file_ = Descriptor(); }

 private:
  SharedPages() = default;
  bool map(size_t bytes);

  Descriptor file_;
  PagesKey key_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace robusta::sockets
