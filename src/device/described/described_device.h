/// A GPU that is not there: nets are planned for it, and what its kernels would launch is counted.
///
/// Kernels are the emulated ones (device/gpu/target.h), as far as their first launch: the stream's counter lets none
/// run, so that the addresses they are given need not be of any memory. What kernels allocate for themselves is the
/// host's.
#pragma once

#include "device/device.h"

namespace robusta {

/// Work that is appended runs at once. Copies are not made.
class CountingStream : public Stream {
 public:
  /// REQUIRES before work is appended: a counter, which outlives that.
  void set_counter(KernelCounter* counter) { counter_ = counter; }
  KernelCounter* counter() override { return counter_; }

  void run(std::function<void()> work) override { work(); }
  void copy_to_device(void*, const void*, size_t) override {}
  void copy_to_host(void*, const void*, size_t) override {}
  void copy(void* to, const void* from, size_t bytes) override;
  void fill_zero(void* to, size_t bytes) override;
  std::shared_ptr<Event> record() override;
  void wait(const std::shared_ptr<Event>&) override {}
  void synchronize() override {}

 private:
  KernelCounter* counter_ = nullptr;
};

class DescribedGpu : public Device {
 public:
  explicit DescribedGpu(size_t memory) : memory_(memory) {}
  std::string name() const override { return "a GPU that is described"; }
  std::string kernel_kind() const override { return "emulated"; }
  bool is_host() const override { return false; }
  bool only_counts() const override { return true; }
  void* allocate(size_t bytes) override { return cpu_device().allocate(bytes); }
  void deallocate(void* memory) override { cpu_device().deallocate(memory); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CountingStream>(); }
  size_t total_memory() const override { return memory_; }
  size_t free_memory() const override { return memory_; }

 private:
  size_t memory_;
};

}  // namespace robusta
