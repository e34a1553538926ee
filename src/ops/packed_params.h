/// Copies of parameters as kernels want them, in another order or type, all made by one launch of a device where it
/// takes that many arguments, or few; and gradients that kernels leave so, all brought back likewise.
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

/// The way back: a gradient in the order of PackJob::to becomes one in the parameter's, or is added there.
struct UnpackJob {
  const void* from;  ///< aligned to 16 bytes
  DType type;        ///< of `from`: f32 or 16 bits
  int64_t outputs, rows, cols;
  float* to;
  bool add;
};

/// Both enqueue all jobs on `stream`. No two of them write to one array.
struct ParamPacker {
  void (*pack)(Stream* stream, std::span<const PackJob> jobs);
  void (*unpack)(Stream* stream, std::span<const UnpackJob> jobs);
};

/// True, for initialising a static. `kernel_kind`: Device::kernel_kind.
bool register_param_packer(const std::string& kernel_kind, ParamPacker packer);
/// Null where the device has none; else it stays.
const ParamPacker* find_param_packer(const std::string& kernel_kind);

}  // namespace robusta
