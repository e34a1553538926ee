// The host as a device: work runs at once, copies are memcpy, events are always reached.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/parallel.h"
#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "device/device.h"
#include "robusta/error.h"

namespace robusta {
namespace {

// a cache line and a vector of AVX-512; a huge page of x86
constexpr size_t kAlignment = 64, kHugePage = size_t{2} << 20;

/// The whole huge pages of a block: the last one among them, if most of it is used. Sanitizers are to see the block's
/// end.
size_t in_huge_pages(size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  return bytes / kHugePage * kHugePage;
#else
  return (bytes + kHugePage / 4) / kHugePage * kHugePage;
#endif
}

/// The kernel clears a page when it is first written: all threads share that work here, before one of them would do it
/// while the others wait for it at the end of a loop.
void touch(void* memory, size_t bytes) {
  const auto pages = static_cast<int64_t>(bytes / kHugePage);
  parallel_for(pages, 1, [=](int64_t page) {
    constexpr size_t kSmallest = 4096;
    char* const begin = static_cast<char*>(memory) + static_cast<size_t>(page) * kHugePage;
    for (size_t offset = 0; offset < kHugePage; offset += kSmallest) begin[offset] = 0;
  });
}

/// Arenas and parameters are walked with strides that wear out the TLB: huge pages save it most misses, and each is had
/// in a tenth of the time of as many small ones. Linux gives them only where they are asked for (its usual setting);
/// elsewhere, or when it has none, nothing changes.
void* allocate_pages(size_t bytes) {
  const size_t huge = in_huge_pages(bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, huge > 0 ? kHugePage : kAlignment, std::max(bytes, huge)) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  if (huge > 0) madvise(memory, huge, MADV_HUGEPAGE);
#endif
  touch(memory, huge);
  return memory;
}

struct DoneEvent : Event {
  void wait() override {}
  bool reached() override { return true; }
};

/// Work is done when run() returns.
class CpuStream : public Stream {
 public:
  void run(std::function<void()> work) override { work(); }
  void copy_to_device(void* to, const void* from_host, size_t bytes) override { copy(to, from_host, bytes); }
  void copy_to_host(void* to_host, const void* from, size_t bytes) override { copy(to_host, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);  // of nothing there may be no address
  }
  void fill_zero(void* to, size_t bytes) override { std::memset(to, 0, bytes); }
  std::shared_ptr<Event> record() override { return std::make_shared<DoneEvent>(); }
  void wait(const std::shared_ptr<Event>&) override {}
  void synchronize() override {}
};

/// In bytes. To ask takes about as long as to write this many: a dozen files of /proc and of the control groups are
/// read.
constexpr size_t kWorthAsking = 1 << 20;

class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }
  std::string kernel_kind() const override { return "cpu"; }
  bool is_host() const override { return true; }
  bool multiplies_bf16() const override { return false; }

  void* allocate(size_t bytes) override {
    // Linux grants more than there is and kills the process when it is touched: ask first.
    const bool granted = bytes < kWorthAsking || bytes <= available_host_memory();
    if (void* memory = granted ? allocate_pages(bytes) : nullptr) return memory;
    throw Error(ErrorKind::kMemory,
                str("out of memory: ", bytes >> 20, " MiB wanted, ", available_host_memory() >> 20, " MiB available"),
                "use a smaller batch (`caffe plan` names the largest that fits)");
  }
  void deallocate(void* memory) override { std::free(memory); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
  size_t total_memory() const override {
    return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  size_t free_memory() const override { return available_host_memory(); }
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace robusta
