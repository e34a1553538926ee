// Every net and solver opens its device for itself: there is no current one of the process.

#include "api/devices.h"

#include "base/str.h"
#include "device/gpus.h"
#include "robusta/error.h"

namespace robusta::v1 {

std::shared_ptr<Device> open_device(int gpu) {
  if (gpu < -1)
    throw Error(ErrorKind::kUsage, str("gpu is ", gpu), "give the number of a GPU, or -1 for the processor");
  return gpu < 0 ? nullptr : open_gpu(gpu);
}

Device* device_or_cpu(const std::shared_ptr<Device>& device) { return device ? device.get() : &cpu_device(); }

robusta::DType computing_type(DType type) {
  if (type == DType::kF32 || type == DType::kF64) return inside(type);
  throw Error(ErrorKind::kUsage, "dtype is neither kF32 nor kF64",
              "for activations of 16 bits set precision to \"bf16\" or, on a GPU, \"fp16\"");
}

}  // namespace robusta::v1
