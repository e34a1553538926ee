/// Copies of parameters as kernels want them, in another order or type, all made by one or two launches of a device.
#pragma once

#include <span>
#include <string>

#include "device/device.h"
#include "tensor/dtype.h"

namespace robusta {

/// Per output a matrix of rows x cols becomes its transpose.
struct PackJob {
  const float* from;
  void* to;
  DType type;  ///< of `to`: f32 or 16 bits
  int64_t outputs, rows, cols;
};

/// Enqueues all of them on `stream`.
using ParamPacker = void (*)(Stream* stream, std::span<const PackJob> jobs);

/// True, for initialising a static. `kernel_kind`: Device::kernel_kind.
bool register_param_packer(const std::string& kernel_kind, ParamPacker packer);
/// Null where the device has none.
ParamPacker find_param_packer(const std::string& kernel_kind);

}  // namespace robusta
