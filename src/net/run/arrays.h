/// Reading and writing plain arrays in the memory of a device, from the host.
///
/// All of them wait for the stream: what was enqueued before has run, and the host may use its memory afterwards.
#pragma once

#include <vector>

#include "device/device.h"
#include "tensor/tensor.h"

namespace robusta {

/// The numbers of an array without a layout, as floats.
std::vector<float> read_array(Stream& stream, const Tensor& array);
/// REQUIRES: as many numbers as the array has.
void write_array(Stream& stream, const Tensor& array, const std::vector<float>& numbers);

/// The same in the array's own element type, byte by byte: array.desc.bytes() of them.
void fetch_array(Stream& stream, const Tensor& array, void* to_host);
void store_array(Stream& stream, const Tensor& array, const void* from_host);

}  // namespace robusta
