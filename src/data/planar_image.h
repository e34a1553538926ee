/// An image in memory, a plane per channel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/pixels.h"

namespace robusta {

/// Told the size of an image, the rows and columns that are wanted of it. May throw.
using WantedSize = std::function<Extent(const Extent& image)>;
/// Told the size that an image is decoded in and the size that it has, the part of the former that is looked at. May
/// throw.
using WantedPart = std::function<PixelRect(const Extent& decoded, const Extent& image)>;

/// What of an image whoever reads it wants; all of it where there is nothing.
struct WantedPixels {
  WantedSize size;
  WantedPart part;
};

/// Reusing one saves the allocation.
struct Image {
  Extent extent;
  std::vector<uint8_t> planes;   ///< C x H x W
  std::vector<uint8_t> scratch;  ///< of decoders, nothing of interest
  Extent scaled_from = {};       ///< as in Pixels

  Pixels pixels() const { return {extent, planes.data(), nullptr, scaled_from}; }
  uint8_t* row(int64_t channel, int64_t y) { return planes.data() + (channel * extent.height + y) * extent.width; }
  const uint8_t* row(int64_t channel, int64_t y) const {
    return planes.data() + (channel * extent.height + y) * extent.width;
  }
  void reset(const Extent& size) {
    extent = size;
    scaled_from = {};
    planes.resize(static_cast<size_t>(size.count()));
  }
};

}  // namespace robusta
