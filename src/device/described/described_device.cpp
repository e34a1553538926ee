// Copies and zeros count as kernels do.

#include "device/described/described_device.h"

namespace robusta {
namespace {

class PastEvent : public Event {
 public:
  void wait() override {}
  bool reached() override { return true; }
};

}  // namespace

void CountingStream::copy(void* to, const void* from, size_t bytes) {
  const KernelCall::Array arrays[] = {{from, static_cast<int64_t>(bytes)}, {to, static_cast<int64_t>(bytes)}};
  if (bytes > 0) counter_->count({arrays});
}

void CountingStream::fill_zero(void* to, size_t bytes) {
  const KernelCall::Array array{to, static_cast<int64_t>(bytes)};
  if (bytes > 0) counter_->count({{&array, 1}});
}

std::shared_ptr<Event> CountingStream::record() { return std::make_shared<PastEvent>(); }

}  // namespace robusta
