/// A fake accelerator for tests.
///
/// It has a heap of its own with a byte budget, runs every stream on a thread of its own, fills memory with a poison
/// pattern (a signalling NaN when read as float) when it is allocated and when it is freed, and refuses pointers that
/// are not its own. What works here - copies, order, waits, budgets, recordings - is what a real accelerator needs.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "device/device.h"

namespace robusta {

class SimDevice : public Device {
 public:
  /// `budget`: bytes of memory. `delay_us`: pause before each piece of work, to bring out missing waits.
  /// `kernels`: whose run here, the CPU's ("cpu") or the GPU's ("emulated", device/gpu/target.h).
  explicit SimDevice(size_t budget, int delay_us = 0, std::string kernels = "cpu", std::string place = "");
  ~SimDevice() override;
  /// Further pauses before each copy and before each other piece of work: one kind of stream falls behind the other.
  void set_lateness(int copies_us, int work_us) { late_copies_us_ = copies_us, late_work_us_ = work_us; }

  std::string name() const override { return "sim"; }
  std::string kernel_kind() const override { return kernels_; }
  bool is_host() const override { return false; }
  std::string place() const override { return place_; }
  void* allocate(size_t bytes) override;
  void deallocate(void* memory) override;
  /// Throws Error{kInternal} for memory that is not, or no longer, the device's own.
  void check(const void* memory, size_t bytes) const override;
  std::unique_ptr<Stream> make_stream() override;
  size_t total_memory() const override { return budget_; }
  size_t free_memory() const override;
  bool records_graphs() const override { return true; }

  size_t bytes_in_use() const { return in_use_; }
  size_t peak_bytes() const { return peak_; }
  uint64_t bytes_to_device() const { return to_device_; }
  uint64_t bytes_to_host() const { return to_host_; }
  /// What the host has done so far: waited for streams and for events, and launched (work, copies, graphs).
  uint64_t synchronizations() const { return synchronizations_; }
  uint64_t host_waits() const { return host_waits_; }
  uint64_t launches() const { return launches_; }

 private:
  friend class SimStream;
  friend class SimEvent;
  size_t budget_;
  int delay_us_;
  std::atomic<int> late_copies_us_{0}, late_work_us_{0};
  std::string kernels_, place_;
  mutable std::mutex mutex_;
  std::map<const char*, size_t> blocks_;  ///< guarded by mutex_
  size_t in_use_ = 0, peak_ = 0;
  std::atomic<uint64_t> to_device_{0}, to_host_{0}, synchronizations_{0}, host_waits_{0}, launches_{0};
};

}  // namespace robusta
