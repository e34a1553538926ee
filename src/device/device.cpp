// What devices do that have nothing of their own for it.

#include "device/device.h"

#include "robusta/error.h"

namespace robusta {
namespace {

[[noreturn]] void no_graphs() { throw Error(ErrorKind::kInternal, "a device that records no graphs is asked to"); }

}  // namespace

void Stream::begin_recording() { no_graphs(); }
std::unique_ptr<Recording> Stream::end_recording() { no_graphs(); }
void Stream::launch(Recording&) { no_graphs(); }

std::shared_ptr<void> Device::host_memory(size_t bytes) {
  if (bytes == 0) return nullptr;
  Device& host = cpu_device();
  return {host.allocate(bytes), [&host](void* memory) { host.deallocate(memory); }};
}

}  // namespace robusta
