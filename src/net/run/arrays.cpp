// Copies between host and device, with conversion to and from float on the host.

#include "net/run/arrays.h"

#include <cassert>

namespace robusta {

std::vector<float> read_array(Stream& stream, const Tensor& array) {
  std::vector<char> bytes(array.desc.bytes());
  fetch_array(stream, array, bytes.data());
  std::vector<float> numbers(static_cast<size_t>(array.desc.count()));
  to_floats(array.desc.dtype, bytes.data(), numbers.data(), numbers.size());
  return numbers;
}

void write_array(Stream& stream, const Tensor& array, const std::vector<float>& numbers) {
  assert(static_cast<int64_t>(numbers.size()) == array.desc.count());
  std::vector<char> bytes(array.desc.bytes());
  from_floats(array.desc.dtype, numbers.data(), bytes.data(), numbers.size());
  store_array(stream, array, bytes.data());
}

void fetch_array(Stream& stream, const Tensor& array, void* to_host) {
  if (array.desc.bytes() > 0) stream.copy_to_host(to_host, array.data, array.desc.bytes());
  stream.synchronize();
}

void store_array(Stream& stream, const Tensor& array, const void* from_host) {
  if (array.desc.bytes() > 0) stream.copy_to_device(array.data, from_host, array.desc.bytes());
  stream.synchronize();
}

}  // namespace robusta
