/// The layout in which the channels of a pixel are neighbours: logical [n, c, d0, d1, ...] stored as [n, d0, d1, ...,
/// c]. GPUs' matrix units want it. No padding.
#pragma once

#include "tensor/tensor.h"

namespace robusta {

/// A tensor as batch x channels x pixels; pixels is the product of all axes behind the second.
struct ChannelExtents {
  int64_t batch = 1, channels = 1, pixels = 1;
};
/// REQUIRES: at least two axes.
ChannelExtents channel_extents(const Shape& shape);

/// Null (plain) where both orders are the same: fewer than three axes, one channel or one pixel.
Layout channels_last(const TensorDesc& desc);
bool is_channels_last(const Layout& layout);

}  // namespace robusta
