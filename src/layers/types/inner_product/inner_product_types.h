/// Whether an InnerProduct of the host pays in bf16, as convolution_types.h has it for convolutions.
#pragma once

#include "layers/types/inner_product/inner_product_products.h"

namespace robusta {

/// Which products a pass has beside the forward one.
struct WantedSteps {
  bool data, weights;
  explicit WantedSteps(const KernelRequest& request)
      : data(request.backward && request.bottom_grads[0]), weights(request.backward && request.param_grads[0]) {}
};

/// True if all products of a step take less time in f32, on plain arrays, than by matrix units. What brings the bottom
/// from one type to the other is not counted. Small products, which take microseconds, follow their bottom. Without a
/// tuner, or memory to time them in, it is false. REQUIRES: amx::is_there().
bool is_faster_in_f32(const KernelRequest& request);

}  // namespace robusta
