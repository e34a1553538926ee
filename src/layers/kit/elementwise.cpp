// The layout that elementwise kernels agree on, and copies over all threads.

#include "layers/kit/elementwise.h"

#include <cassert>
#include <cstring>

namespace robusta {
namespace {

constexpr int64_t kCopyGrain = 1 << 16;  // bytes

}  // namespace

bool is_f32(const KernelRequest& request, std::string& why_not) {
  if (request.dtype() == DType::kF32) return true;
  why_not = std::string("computes in f32, this net in ") + name_of(request.dtype());
  return false;
}

bool is_f32_or_bf16(const KernelRequest& request, std::string& why_not) {
  return request.dtype() == DType::kBF16 || is_f32(request, why_not);
}

int64_t book_shared_layout(const KernelRequest& request, bool keeps_zero, Booking& booking) {
  Layout layout;
  for (const TensorDesc& bottom : request.bottoms) {
    assert(bottom.shape == request.bottoms[0].shape);
    if (!layout) layout = bottom.layout;
  }
  if (is_padded(layout) && !keeps_zero) layout = nullptr;
  booking.bottom_layouts.assign(request.bottoms.size(), layout);
  booking.top_layouts.assign(request.tops.size(), layout);
  return stored_count({request.bottoms[0].shape, request.bottoms[0].dtype, layout});
}

void copy_unless_shared(const Tensor& from, const Tensor& to) {
  if (from.data == to.data) return;
  const char* source = from.as<char>();
  char* target = to.as<char>();
  parallel_ranges(static_cast<int64_t>(to.desc.bytes()), kCopyGrain, [=](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

void fill_zero(const Tensor& tensor) {
  char* target = tensor.as<char>();
  parallel_ranges(static_cast<int64_t>(tensor.desc.bytes()), kCopyGrain, [=](int64_t begin, int64_t end) {
    std::memset(target + begin, 0, static_cast<size_t>(end - begin));
  });
}

}  // namespace robusta
