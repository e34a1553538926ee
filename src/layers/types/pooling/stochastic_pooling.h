/// Stochastic pooling (Zeiler and Fergus 2013, "Stochastic Pooling for Regularization of Deep Convolutional Neural
/// Networks"; as Caffe's GPU code has it): a pixel x of a window, none of which is negative, has the probability
/// x / sum x. Training draws one; testing gives the mean under these probabilities, sum x^2 / sum x, or 0 where the sum
/// is not above 0.
///
/// Drawn is the first pixel up to which the pixels sum to at least u * sum x; the last one, should rounding leave none.
/// u is uniform in [0, 1): a pure function of the run's seed, the layer's name, the sample's position in the training
/// and the output's place in the sample.
#pragma once

#include "base/philox.h"
#include "layers/kit/kernel.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {

/// The numbers u of one pass.
struct PoolDraws {
  PoolDraws(const PoolingLayer& layer, const KernelRun& run);

  uint64_t key;
  const uint64_t* first_sample;  ///< in the device's memory

  /// For output `place` of a sample, in plain order. constexpr: GPU kernels may call it, too.
  constexpr float operator()(int64_t sample, int64_t place) const {
    const auto index = static_cast<uint64_t>(place);
    const PhiloxBlock words = philox(key, *first_sample + static_cast<uint64_t>(sample), index / 4);
    // Selected, for a GPU's registers have no index.
    const uint32_t even = index % 4 < 2 ? words[0] : words[2], odd = index % 4 < 2 ? words[1] : words[3];
    return static_cast<float>((index % 2 == 0 ? even : odd) >> 8) * 0x1.0p-24f;
  }
};

/// What every kernel books. Where there is a backward pass, training keeps which pixels were drawn, testing sums and
/// means of windows, each in `bytes` for an output.
void book_stochastic(const KernelRequest& request, size_t bytes, Booking& booking);

/// The reference kernel.
std::unique_ptr<Kernel> make_stochastic_pooling(const KernelRequest& request);

}  // namespace robusta
