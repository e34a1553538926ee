/// Maps of labels: images of one channel whose pixels are classes, not brightness.
#pragma once

#include <string_view>

#include "data/image.h"

namespace robusta {

/// Decodes a JPEG or PNG file whose pixels are labels, turned upright as the photo beside it is. Colours are taken only
/// where all three are the same number. Throws Error{kData}: as decode_image, also for 16 bits per channel; a palette
/// or colours, whose brightness would be no label.
void decode_label_map(std::string_view file, Image& map);

/// Each pixel that of the nearest place, in the arithmetic of OpenCV's INTER_NEAREST with whole numbers: no label
/// arises that was not there. REQUIRES: height, width > 0, bytes, not those of `to`.
void resize_nearest(const Pixels& from, int64_t height, int64_t width, Image& to);

}  // namespace robusta
