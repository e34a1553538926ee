/// SpatialDropout: clears whole channels of a sample with probability `dropout_ratio` when training and scales the
/// others up (Tompson et al. 2015, "Efficient Object Localization Using Convolutional Networks", section 3.2; Intel's
/// Caffe, which reads dropout_param). Shared by its kernels.
#pragma once

#include <cmath>

#include "base/half.h"
#include "base/philox.h"
#include "layers/kit/booking.h"
#include "layers/kit/in_place.h"

namespace robusta {

/// After infer_tops a bottom is planes() of plane() elements each.
class SpatialDropoutLayer : public Layer, public LeavesContent {
 public:
  explicit SpatialDropoutLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  Content leaves() const override { return training() ? Content::kSigns : Content::kAll; }
  float ratio() const { return param().dropout_param().dropout_ratio(); }
  int64_t planes() const { return planes_; }
  int64_t plane() const { return plane_; }

 private:
  int64_t planes_ = 0, plane_ = 0;
};

/// What each channel is multiplied by: a pure function of the run's seed, the layer's name, the sample's position in
/// the training and the channel, which looks at word c % 4 of Philox block c / 4.
struct ChannelFactors {
  ChannelFactors(const SpatialDropoutLayer& layer, const KernelRun& run);

  ROBUSTA_HOST_DEVICE float operator()(int64_t plane) const {
    const auto sample = static_cast<uint64_t>(plane / per_sample), c = static_cast<uint64_t>(plane % per_sample);
    const PhiloxBlock words = philox(key, *first_sample + sample, c / 4);
    // Selected, for a GPU's registers have no index.
    const uint32_t even = c % 4 < 2 ? words[0] : words[2], odd = c % 4 < 2 ? words[1] : words[3];
    return (c % 2 == 0 ? even : odd) >= threshold ? scale : 0.0f;
  }

  uint64_t key;
  const uint64_t* first_sample;  ///< in the device's memory
  int64_t per_sample;
  uint32_t threshold;  ///< words below it clear their channel
  float scale;
};

/// What every kernel books when training.
inline void book_spatial_dropout(Booking& booking) {
  book_reads_nothing(1, booking);
  book_in_place(booking);
}

}  // namespace robusta
