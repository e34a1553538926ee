/// The windows of convolution_param and pooling_param: the one place where they are read and their sizes checked.
///
/// A file gives kernel size, stride, padding and dilation once for all spatial axes, once for each, or, for two axes,
/// as
/// *_h and *_w. Each value that comes out is at most 2^30, so that sums and products of two stay within 64 bits.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "layers/kit/layer.h"
#include "ops/window.h"
#include "robusta/error.h"
#include "tensor/shape.h"

namespace robusta {

/// "height" and "width" for two axes, "spatial axis 3" for many: for messages.
std::string spatial_axis_name(size_t axis, size_t axes);

/// Kernel, stride, pad and dilation for this many spatial axes. Throws Error{kConfig}, naming the field.
std::vector<WindowAxis> read_windows(const caffe::ConvolutionParameter& param, size_t axes);

/// The same, and `in`, for a bottom of [batch, channels, in...]; global pooling takes all of `in` as its window. Throws
/// Error{kConfig}, also for windows that could lie in the padding altogether.
std::vector<WindowAxis> read_windows(const caffe::PoolingParameter& param, const Shape& bottom);

/// Sets `in` and `out` of windows that slide over `bottom` behind its axis `channel_axis`, as in a convolution: whole
/// windows alone count; and the padding where `param` has it follow from these. Throws Error{kConfig} where not one
/// window fits.
void set_convolved_extents(const caffe::ConvolutionParameter& param, const Shape& bottom, int channel_axis,
                           std::vector<WindowAxis>& axes);

/// Where the middles of windows lie in what they slide over (Layer::alignment).
std::vector<AxisMap> window_alignment(const std::vector<WindowAxis>& axes);

/// The error of a window that exceeds the input and its padding along axis `index` of `axes`.
Error window_exceeds_input(const std::string& message, const std::vector<WindowAxis>& axes, size_t index);

}  // namespace robusta
