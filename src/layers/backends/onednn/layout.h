/// oneDNN's storage formats as layouts of ours. A layout says how elements lie, of whichever type they are.
#pragma once

#include "layers/backends/onednn/desc.h"
#include "tensor/tensor.h"

namespace robusta::onednn {

/// How a tensor lies. REQUIRES: not f64; plain, or a layout that came from layout_of. Of 16 bits: one that `typed`
/// takes.
Desc desc_of(const TensorDesc& tensor);
/// The same format with elements of another type. Throws dnnl::error for formats other than plain, channels last and
/// channels in blocks of 8 and 16.
Desc typed(const Desc& desc, DType type);

/// The layout that stores a tensor of `shape` as `desc` does; null when that is C order (as a blocked format may be
/// when only channels have an extent). REQUIRES: the same extents in the same order.
Layout layout_of(const Desc& desc);

/// The block size of such a layout: 16, 8, 4, ...; 1 for plain; 0 for anything else.
int channel_block(const Layout& layout);
bool has_channels_last(const Layout& layout);

}  // namespace robusta::onednn
