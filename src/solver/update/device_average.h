/// What is done with averages of weights in the memory of a device: the functions that its backend registers.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.h"
#include "tensor/dtype.h"

namespace robusta {

/// Of one parameter: `count` elements of `dtype` each; f32, unless in host memory.
struct AveragedArray {
  void *average, *weights;
  int64_t count;
  DType dtype;
};

struct DeviceAverage {
  /// average <- keep * average + (1 - keep) * weights.
  void (*follow)(Stream* stream, const AveragedArray& array, double keep);
  void (*exchange)(Stream* stream, const AveragedArray& array);
};
bool register_device_average(const std::string& kernel_kind, const DeviceAverage& functions);

}  // namespace robusta
