/// What the kernels of an Eltwise sum have in common, on any device: y = sum of w_b * x_b, then the ReLU if there is
/// one.
#pragma once

#include <vector>

#include "layers/types/eltwise/eltwise_chain.h"

namespace robusta {

/// Books what all of them book. Returns the number of stored elements of each bottom.
int64_t book_eltwise_sum(const KernelRequest& request, const EltwiseChain& chain, Booking& booking);

/// `Term` begins with a pointer to a bottom's elements and its factor.
template <typename Term>
class EltwiseSumKernel : public Kernel {
 public:
  explicit EltwiseSumKernel(const KernelRequest& request) : EltwiseSumKernel(request, EltwiseChain(request)) {}

 protected:
  bool fused_, plain_;  ///< with the ReLU; all factors are 1
  float slope_;         ///< of the ReLU; 1: there is none
  int64_t count_;
  std::vector<Term> terms_;  ///< data is set by each run; here because a run allocates nothing

 private:
  EltwiseSumKernel(const KernelRequest& request, const EltwiseChain& chain)
      : fused_(bool{chain.relu}),
        plain_(chain.eltwise->plain_sum()),
        slope_(chain.relu ? chain.relu->slope() : 1.0f),
        count_(book_eltwise_sum(request, chain, booking_)) {
    for (size_t b = 0; b < request.bottoms.size(); ++b) {
      terms_.push_back({nullptr, chain.eltwise->coeff(static_cast<int>(b))});
    }
  }
};

}  // namespace robusta
