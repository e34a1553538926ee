/// oneDNN's engine and memory descriptors, under names of ours.
///
/// One CPU engine serves the process; each thread that runs kernels has a stream of its own.
#pragma once

#include <dnnl.hpp>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace robusta::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

dnnl::engine& engine();
dnnl::stream& stream();

/// The extents as oneDNN wants them; a scalar becomes one element.
Dims dims_of(const Shape& shape);
/// Dense C order. Here and below REQUIRES: `type` is not f64, which oneDNN does not compute with.
Desc plain_desc(const Dims& dims, DType type = DType::kF32);
inline Desc plain_desc(const Shape& shape, DType type = DType::kF32) { return plain_desc(dims_of(shape), type); }
/// Where a primitive may choose the format.
Desc any_desc(const Dims& dims, DType type = DType::kF32);
/// Channels stored together in blocks of `block`, the blocks before the spatial axes: nChw16c and its like.
Desc blocked_desc(const Dims& dims, int block, DType type = DType::kF32);
/// Channels last: nhwc and its like.
Desc channels_last_desc(const Dims& dims, DType type = DType::kF32);

}  // namespace robusta::onednn
