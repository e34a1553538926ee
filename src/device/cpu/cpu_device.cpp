#include <cstdlib>
#include <cstring>

#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "device/device.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct DoneEvent : Event {
  void wait() override {}
};

/// Work is done when run() returns.
class CpuStream : public Stream {
 public:
  void run(std::function<void()> work) override { work(); }
  void copy_to_device(void* to, const void* from_host, size_t bytes) override { std::memcpy(to, from_host, bytes); }
  void copy_to_host(void* to_host, const void* from, size_t bytes) override { std::memcpy(to_host, from, bytes); }
  std::shared_ptr<Event> record() override { return std::make_shared<DoneEvent>(); }
  void wait(const std::shared_ptr<Event>&) override {}
  void synchronize() override {}
};

class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }
  std::string kernel_kind() const override { return "cpu"; }
  bool is_host() const override { return true; }

  void* allocate(size_t bytes) override {
    // Linux grants more than there is and kills the process when it is touched: ask first.
    const size_t available = available_host_memory();
    void* memory = nullptr;
    if (bytes > available || posix_memalign(&memory, 64, bytes) != 0) {
      throw Error(ErrorKind::kMemory,
                  str("out of memory: ", bytes >> 20, " MiB wanted, ", available >> 20, " MiB available"),
                  "use a smaller batch (`caffe plan` names the largest that fits)");
    }
    return memory;
  }
  void deallocate(void* memory) override { std::free(memory); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace robusta
