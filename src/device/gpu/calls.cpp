// Looks through the bodies of kernels. Apart from the templates, for some of a body's words lie between its members.

#include "device/gpu/calls.h"

#include <cstring>

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {
namespace detail {

void scan(const void* body, size_t bytes, int64_t count, const std::vector<KernelCall::Array>& elements,
          KernelArrays& to) {
  for (size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
    const void* word;
    std::memcpy(&word, static_cast<const char*>(body) + at, sizeof word);
    int64_t size = KernelCall::kToItsEnd;
    for (const KernelCall::Array& element : elements) {
      if (element.data == word) size = count * element.bytes;
    }
    if (word) to.add({word, size});
  }
}

}  // namespace detail
}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
