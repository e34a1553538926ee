/// Pixels that are not yet numbers: what a source gives to a device that finishes its tops there. A byte per pixel
/// travels, where a float would take four.
#pragma once

#include <cstdint>
#include <vector>

#include "data/pixels.h"

namespace robusta {

/// Which part of an item was taken, and whether it is to be turned from right to left. Of the sample so many rows and
/// columns are the item's, before it is turned; beyond them, where a crop is larger than its item, numbers are 0.
struct PixelWindow {
  int32_t top = 0, left = 0, mirror = 0;
  int32_t rows = INT32_MAX, columns = INT32_MAX;
};

/// What becomes of a pixel: (pixel - mean) * scale. There is a mean for all pixels, one per channel, or one for each
/// place of the whole item, `mean_item` being its size.
struct PixelForm {
  float scale = 1;           ///< after the mean is subtracted
  std::vector<float> means;  ///< one, one per channel, or mean_item.count() many
  Extent mean_item;          ///< empty unless the mean goes by place
};

}  // namespace robusta
