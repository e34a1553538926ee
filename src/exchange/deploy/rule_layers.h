/// Small layers that rules put in.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe.pb.h"

namespace robusta::deploy {

caffe::LayerParameter reshape_layer(const std::vector<int64_t>& dims);

/// y = scale x + shift.
caffe::LayerParameter power_layer(float scale, float shift = 0);

}  // namespace robusta::deploy
