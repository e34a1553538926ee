// The heap of the fake accelerator: host memory with a budget, poisoned wherever it holds nothing.

#include "device/sim/sim_state.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// 0xff in every byte is a NaN as float and as double.
constexpr int kPoison = 0xff;

}  // namespace

SimHeap::~SimHeap() { assert(blocks_.empty() && "device memory outlives the device"); }

void* SimHeap::allocate(size_t bytes) {
  std::lock_guard lock(mutex_);
  void* memory = nullptr;
  if (in_use_ + bytes > budget_ || posix_memalign(&memory, 64, std::max<size_t>(bytes, 1)) != 0) {
    throw Error(ErrorKind::kMemory,
                str("out of device memory: ", bytes, " bytes wanted, ", budget_ - in_use_, " of ", budget_, " free"),
                "use a smaller batch");
  }
  std::memset(memory, kPoison, bytes);
  blocks_[static_cast<char*>(memory)] = bytes;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return memory;
}

void SimHeap::deallocate(void* memory) {
  std::lock_guard lock(mutex_);
  const auto block = blocks_.find(static_cast<char*>(memory));
  assert(block != blocks_.end());
  std::memset(memory, kPoison, block->second);
  in_use_ -= block->second;
  blocks_.erase(block);
  std::free(memory);
}

void SimHeap::check(const void* memory, size_t bytes) const {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  const char* begin = static_cast<const char*>(memory);
  auto block = blocks_.upper_bound(begin);
  const bool inside = block != blocks_.begin() && (--block, begin + bytes <= block->first + block->second);
  if (!inside) throw Error(ErrorKind::kInternal, "a pointer that is not device memory reached the sim device");
}

size_t SimHeap::free() const {
  std::lock_guard lock(mutex_);
  return budget_ - in_use_;
}

size_t SimHeap::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

size_t SimHeap::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace robusta
