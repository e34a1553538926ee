/// oneDNN's storage formats as layouts of ours. All in f32.
#pragma once

#include "layers/backends/onednn/desc.h"
#include "tensor/tensor.h"

namespace robusta::onednn {

/// How a tensor lies. REQUIRES: f32; plain, or a layout that came from layout_of.
Desc desc_of(const TensorDesc& tensor);

/// The layout that stores a tensor of `shape` as `desc` does; null when that is C order (as a blocked format may be
/// when only channels have an extent). REQUIRES: the same extents in the same order.
Layout layout_of(const Desc& desc);

/// The block size of such a layout: 16, 8, 4, ...; 1 for plain; 0 for anything else.
int channel_block(const Layout& layout);
bool has_channels_last(const Layout& layout);

}  // namespace robusta::onednn
