/// The native kernels of Eltwise, by operation.
#pragma once

#include "layers/kit/kernel.h"

namespace robusta {

/// REQUIRES (all): f32.
std::unique_ptr<Kernel> make_eltwise_sum(const KernelRequest& request);
std::unique_ptr<Kernel> make_eltwise_max(const KernelRequest& request);
/// REQUIRES: stable_prod_grad.
std::unique_ptr<Kernel> make_eltwise_prod(const KernelRequest& request);

}  // namespace robusta
