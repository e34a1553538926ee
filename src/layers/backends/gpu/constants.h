/// Numbers of the host that a kernel reads unchanged in every run. For files named *_gpu.cpp.
#pragma once

#include <span>

#include "device/device.h"
#include "device/gpu/target.h"
#include "layers/kit/kernel.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Numbers of the host, in the memory where the kernel will run.
inline DeviceBuffer copied_to_device(const KernelRequest& request, std::span<const float> numbers) {
  Device& device = request.device ? *request.device : cpu_device();
  DeviceBuffer buffer(device, numbers.size_bytes());
  if (numbers.empty()) return buffer;
  const std::unique_ptr<Stream> stream = device.make_stream();
  stream->copy_to_device(buffer.data(), numbers.data(), numbers.size_bytes());
  stream->synchronize();
  return buffer;
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
