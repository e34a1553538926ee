// What kernels of an Eltwise sum book, on any device.

#include "layers/types/eltwise/eltwise_sum.h"

#include "layers/kit/elementwise.h"

namespace robusta {

int64_t book_eltwise_sum(const KernelRequest& request, const EltwiseChain& chain, Booking& booking) {
  const bool plain = chain.eltwise->plain_sum(), fused = bool{chain.relu};
  const int64_t count = book_shared_layout(request, true, booking);
  booking.reads_bottoms.assign(request.bottoms.size(), false);
  booking.reads_tops = {fused};
  booking.repeatable = true;
  // The first two terms of the sum: see weighted_sum.
  booking.forward_aliases = {{0, 0, false}, {1, 0, false}};
  // Factors of 1: all bottoms have the same gradient. Others: bottom 0's, written last, may overwrite the top's.
  booking.equal_bottom_diffs = plain;
  const int overwriting = plain ? static_cast<int>(request.bottoms.size()) : 1;
  for (int b = 0; b < overwriting; ++b) booking.backward_aliases.push_back({0, b, plain && !fused});
  return count;
}

}  // namespace robusta
