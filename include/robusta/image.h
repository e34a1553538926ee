/// Pictures and mean images from files, as the layers of Caffe's nets take them.
///
///   const robusta::Image picture = robusta::load_image("cat.jpg", 3, 227, 227);
///   net.write("data", picture.numbers);
///
/// JPEG, PNG, BMP and, where the library was built with libwebp, WebP are read, told by their first bytes. Numbers are
/// the bytes of the pixels, 0 to 255, in planes: first all of blue, then green, then red; the rows of a plane from the
/// top down. Means and scales are the program's to apply. Any number of threads may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "robusta/error.h"
#include "robusta/tensor.h"

namespace robusta::ROBUSTA_V1 {

/// A picture, or the mean of many.
struct Image {
  Shape shape;                 ///< {channels, height, width}
  std::vector<float> numbers;  ///< count(shape) of them, in C order
};

/// The picture in a file, with `channels` planes: 3 (B, G, R; a grey picture has three equal ones) or 1 (grey: 0.299 R
/// + 0.587 G + 0.114 B); transparency is dropped, and a JPEG turned upright as its camera noted. `height` and
/// `width`, in pixels, are what it is resized to, bilinearly and with the bytes that OpenCV would give; both 0: as it
/// is.
///
/// Throws Error: kUsage for other channels, for one of the two sizes alone, a negative one, or more than 2^27 pixels;
/// kData, at the path, for a file that is absent, damaged, cut off or larger than that; kUnsupported, at the path, for
/// another format.
ROBUSTA_API Image load_image(const std::string& path, int channels, int64_t height = 0, int64_t width = 0);

/// The same of a file that is in memory. Errors have no path.
ROBUSTA_API Image decode_image(std::span<const std::byte> file, int channels, int64_t height = 0, int64_t width = 0);

/// A mean image as compute_image_mean writes it (mean.binaryproto), or a numpy array of floats of such a shape (.npy).
/// Throws Error{kData}, at the path, for a file that is absent or none.
ROBUSTA_API Image load_mean(const std::string& path);

/// The mean of each channel, as many as there are: what is subtracted where a picture has another size than the mean
/// image. Throws Error{kUsage} where the shape is no {channels, height, width} of so many numbers, or empty.
ROBUSTA_API std::vector<float> channel_means(const Image& image);

}  // namespace robusta::ROBUSTA_V1
