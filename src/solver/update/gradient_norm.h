/// Sums over whole arrays that are the same for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "tensor/tensor.h"

namespace robusta {

struct Norms {
  double l1 = 0;          ///< sum of absolute values
  double square_sum = 0;  ///< of the L2 norm
};

/// Sums in double, block by block in order. REQUIRES: plain host memory.
Norms norms(const Tensor& tensor);

/// Enqueues the norms of an array in a device's memory: into `result`, by way of norms_scratch(count) bytes.
using DeviceNorms = void (*)(Stream* stream, const float* values, int64_t count, void* scratch, Norms* result);
bool register_device_norms(const std::string& kernel_kind, DeviceNorms launch);
size_t norms_scratch(int64_t count);

/// Norms of arrays of one device. Keeps the memory that it needs there from one call to the next.
class NormReader {
 public:
  NormReader(Device& device, Stream& stream) : device_(device), stream_(stream) {}
  /// In the order of the tensors; waits for the stream once. REQUIRES: plain tensors; f32, unless in host memory.
  std::vector<Norms> read(std::span<const Tensor> tensors);

 private:
  std::vector<Norms> read_on_host(std::span<const Tensor> tensors);

  Device& device_;
  Stream& stream_;
  DeviceBuffer results_, scratch_;
};

/// True when every element is finite, given the array's norms: a sum of finite floats cannot overflow a double, and one
/// infinity or NaN stays in it.
bool all_finite(const Norms& norms);

}  // namespace robusta
