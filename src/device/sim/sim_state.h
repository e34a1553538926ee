/// What the fake accelerator's device and its streams share: its heap, its pauses, and counts of what happened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "device/device.h"

namespace robusta {

/// Memory with a byte budget, poisoned when it is allocated and when it is freed. Any thread may call it.
class SimHeap {
 public:
  explicit SimHeap(size_t budget) : budget_(budget) {}
  ~SimHeap();

  /// Throws Error{kMemory} when the budget, or the host's memory, is spent.
  void* allocate(size_t bytes);
  void deallocate(void* memory);
  /// Throws Error{kInternal} for memory that is not, or no longer, of this heap.
  void check(const void* memory, size_t bytes) const;

  size_t budget() const { return budget_; }
  size_t free() const;
  size_t in_use() const;
  size_t peak() const;

 private:
  const size_t budget_;  ///< bytes that can be had altogether
  mutable std::mutex mutex_;
  std::map<const char*, size_t> blocks_;  ///< guarded by mutex_, as all below
  size_t in_use_ = 0, peak_ = 0;          ///< bytes
};

/// Counts kernels, which run.
struct SimKernels : KernelCounter {
  std::atomic<uint64_t> launched{0};
  bool wants_arrays() const override { return false; }
  bool count(const KernelCall&) override {
    ++launched;
    return true;
  }
};

struct SimState {
  explicit SimState(size_t budget, int delay_us) : heap(budget), delay_us(delay_us) {}

  SimHeap heap;
  const int delay_us;  ///< before each piece of work
  std::atomic<int> late_copies_us{0}, late_work_us{0};
  std::atomic<uint64_t> bytes_to_device{0}, bytes_to_host{0};
  std::atomic<uint64_t> synchronizations{0}, host_waits{0}, launches{0};
  SimKernels kernels;
};

}  // namespace robusta
