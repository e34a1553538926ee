/// What elementwise kernels share: the layout they all work in, and copies. Functions of one argument: unary.h.
///
/// An elementwise kernel need not know how its tensors are stored as long as all are stored alike: it walks over the
/// storage. Only padding needs care: it must stay zero.
#pragma once

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/kit/kernel.h"

namespace robusta {

/// Elements that one thread should at least have in a loop bound by memory.
inline constexpr int64_t kElementwiseGrain = 1 << 14;

/// Elements in storage, padding included.
inline int64_t stored_count(const TensorDesc& desc) { return static_cast<int64_t>(desc.bytes() / size_of(desc.dtype)); }

/// False, with a reason, for all but f32: what native kernels ask first.
bool is_f32(const KernelRequest& request, std::string& why_not);

/// The same for all but f32 and bf16, which `with_f32_or_bf16` takes.
bool is_f32_or_bf16(const KernelRequest& request, std::string& why_not);

/// A value of type T, float or BFloat16, for kernels that are templates over what is stored and compute in float.
template <typename Body>
decltype(auto) with_f32_or_bf16(DType type, Body&& body) {
  if (type == DType::kBF16) return body(BFloat16{});
  return body(float{});
}

/// Registers `Class`, with constructor Class(const KernelRequest&), as the native kernel of a layer type, in f32.
#define ROBUSTA_REGISTER_NATIVE(type, Class)                                                             \
  static std::unique_ptr<::robusta::Kernel> make_native_##Class(const ::robusta::KernelRequest& request, \
                                                                std::string& why_not) {                  \
    if (!::robusta::is_f32(request, why_not)) return nullptr;                                            \
    return std::make_unique<Class>(request);                                                             \
  }                                                                                                      \
  ROBUSTA_REGISTER_KERNEL(type, "native", 10, make_native_##Class)

/// Books one layout for all bottoms and tops: that of the first bottom that is not plain. A padded one only when the
/// kernel makes zeros of zeros (`keeps_zero`), else plain. Returns the number of stored elements of bottom 0.
/// REQUIRES: all bottoms and tops have one shape.
int64_t book_shared_layout(const KernelRequest& request, bool keeps_zero, Booking& booking);

/// Copies the content of `from` unless `to` lives in the same memory already. REQUIRES: equal sizes and layouts.
void copy_unless_shared(const Tensor& from, const Tensor& to);
void fill_zero(const Tensor& tensor);

}  // namespace robusta
