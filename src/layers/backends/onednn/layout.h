/// oneDNN's storage formats as layouts of ours.
///
/// One CPU engine serves the process; each thread that runs kernels has a stream of its own. All in f32.
#pragma once

#include <dnnl.hpp>

#include "tensor/tensor.h"

namespace robusta::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

dnnl::engine& engine();
dnnl::stream& stream();

/// The extents as oneDNN wants them; a scalar becomes one element.
Dims dims_of(const Shape& shape);
/// Dense C order.
Desc plain_desc(const Dims& dims);
inline Desc plain_desc(const Shape& shape) { return plain_desc(dims_of(shape)); }
/// Where a primitive may choose the format.
Desc any_desc(const Dims& dims);
/// How a tensor lies. REQUIRES: f32; plain, or a layout that came from layout_of.
Desc desc_of(const TensorDesc& tensor);

/// The layout that stores a tensor of `shape` as `desc` does; null when that is C order (as a blocked format may be
/// when only channels have an extent). REQUIRES: the same extents in the same order.
Layout layout_of(const Desc& desc);

/// Channels stored together in blocks of `block`, the blocks before the spatial axes: nChw16c and its like.
Desc blocked_desc(const Dims& dims, int block);
/// Channels last: nhwc and its like.
Desc channels_last_desc(const Dims& dims);
/// The block size of such a layout: 16, 8, 4, ...; 1 for plain; 0 for anything else.
int channel_block(const Layout& layout);
bool is_channels_last(const Layout& layout);

}  // namespace robusta::onednn
