/// What rules write into nets: small layers, windows.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe.pb.h"
#include "layers/kit/windows.h"

namespace robusta::deploy {

caffe::LayerParameter reshape_layer(const std::vector<int64_t>& dims);

/// y = scale x + shift.
caffe::LayerParameter power_layer(float scale, float shift = 0);

/// The windows of a convolution over images, whose dilation both axes share, in the fields that all programs read.
void write_windows(const std::vector<WindowAxis>& axes, caffe::ConvolutionParameter* p);

}  // namespace robusta::deploy
