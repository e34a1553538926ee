/// The native kernels of Eltwise, by operation.
#pragma once

#include "layers/kit/kernel.h"

namespace robusta {

/// REQUIRES: f32 or bf16.
std::unique_ptr<Kernel> make_eltwise_sum(const KernelRequest& request);
/// REQUIRES (both): f32.
std::unique_ptr<Kernel> make_eltwise_max(const KernelRequest& request);
/// REQUIRES: stable_prod_grad.
std::unique_ptr<Kernel> make_eltwise_prod(const KernelRequest& request);

}  // namespace robusta
