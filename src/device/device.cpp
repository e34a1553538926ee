#include "device/device.h"

namespace robusta {

std::shared_ptr<void> Device::host_memory(size_t bytes) {
  if (bytes == 0) return nullptr;
  Device& host = cpu_device();
  return {host.allocate(bytes), [&host](void* memory) { host.deallocate(memory); }};
}

}  // namespace robusta
