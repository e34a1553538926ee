/// What a gradient would be at the weights of now that was taken at those of then: Zheng et al. 2017, "Asynchronous
/// Stochastic Gradient Descent with Delay Compensation", section 3.
#pragma once

#include <cstdint>
#include <span>

namespace robusta {

/// g becomes g + lambda g g (w - w'), with the diagonal of the outer product g g' in the place of the Hessian. The
/// gradients are sums over `ranks`, and so are the results; lambda is meant for their means. REQUIRES: equal extents.
template <typename T>
void compensate_delay(std::span<T> gradients, std::span<const T> now, std::span<const T> then, double lambda,
                      double ranks) {
  const auto factor = static_cast<T>(lambda / ranks);
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] += factor * gradients[i] * gradients[i] * (now[i] - then[i]);
  }
}

}  // namespace robusta
