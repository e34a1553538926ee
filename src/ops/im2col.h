/// Convolution as a matrix product: patches of an image written as the columns of a matrix, and back.
///
/// An image is channels x in... in C order; its columns are a matrix of channels * taps rows and elements_out columns.
/// Row c * taps + t holds what tap t (C order over the window's axes) of channel c sees, zero outside of the image.
/// Any number of axes. Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "ops/window.h"

namespace robusta {

template <typename T>
void im2col(const T* image, int64_t channels, std::span<const WindowAxis> axes, T* columns);

/// The transpose of im2col: each element of the image becomes the sum of the places that im2col copies it to.
template <typename T>
void col2im(const T* columns, int64_t channels, std::span<const WindowAxis> axes, T* image);

}  // namespace robusta
