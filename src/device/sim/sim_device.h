/// A fake accelerator for tests.
///
/// It has a heap of its own with a byte budget, runs every stream on a thread of its own, fills memory with a poison
/// pattern (a signalling NaN when read as float) when it is allocated and when it is freed, and refuses pointers that
/// are not its own. What works here - copies, order, waits, budgets, recordings - is what a real accelerator needs.
#pragma once

#include "device/device.h"
#include "device/sim/sim_state.h"

namespace robusta {

class SimDevice : public Device {
 public:
  /// `budget`: bytes of memory. `delay_us`: pause before each piece of work, to bring out missing waits.
  /// `kernels`: whose run here, the CPU's ("cpu") or the GPU's ("emulated", device/gpu/target.h).
  explicit SimDevice(size_t budget, int delay_us = 0, std::string kernels = "cpu", std::string place = "");
  /// Further pauses before each copy and before each other piece of work: one kind of stream falls behind the other.
  void set_lateness(int copies_us, int work_us) {
    state_.late_copies_us = copies_us;
    state_.late_work_us = work_us;
  }

  std::string name() const override { return "sim"; }
  std::string kernel_kind() const override { return kernels_; }
  bool is_host() const override { return false; }
  std::string place() const override { return place_; }
  void* allocate(size_t bytes) override;
  void deallocate(void* memory) override { state_.heap.deallocate(memory); }
  /// Throws Error{kInternal} for memory that is not, or no longer, the device's own.
  void check(const void* memory, size_t bytes) const override { state_.heap.check(memory, bytes); }
  std::unique_ptr<Stream> make_stream() override;
  size_t total_memory() const override { return state_.heap.budget(); }
  size_t free_memory() const override { return state_.heap.free(); }
  bool records_graphs() const override { return true; }

  size_t bytes_in_use() const { return state_.heap.in_use(); }
  size_t peak_bytes() const { return state_.heap.peak(); }
  uint64_t bytes_to_device() const { return state_.bytes_to_device; }
  uint64_t bytes_to_host() const { return state_.bytes_to_host; }
  /// What the host has done so far: waited for streams and for events, and launched (work, copies, graphs).
  uint64_t synchronizations() const { return state_.synchronizations; }
  uint64_t host_waits() const { return state_.host_waits; }
  uint64_t launches() const { return state_.launches; }
  /// Kernels that a GPU would have run, copies and zeros within their work among them: those written for one alone.
  uint64_t kernels() const { return state_.kernels.launched; }

 private:
  SimState state_;
  std::string kernels_, place_;
};

}  // namespace robusta
