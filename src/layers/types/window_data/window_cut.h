/// Where a window of an image comes to lie in the square that a net sees. Pure arithmetic, as Caffe has it.
#pragma once

#include <cstdint>

#include "data/pixels.h"
#include "data/window_file.h"

namespace robusta {

struct CutSettings {
  int64_t crop = 0;         ///< side of the square
  int64_t context_pad = 0;  ///< pixels of the square on each side that show what is around the window
  bool square = false;      ///< the window is made a square first
};

/// The part of the image, inclusive corners, and the part of the square that it is warped to. The rest stays 0.
struct WindowCut {
  int64_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int64_t left = 0, top = 0, width = 0, height = 0;  ///< pixels of the square of crop_size

  friend bool operator==(const WindowCut&, const WindowCut&) = default;
};

/// Throws Error{kData} where nothing of the window is inside an image of this size, or, without context and square, not
/// all of it.
WindowCut cut_window(const Window& window, const Extent& image, const CutSettings& settings, bool mirror);

}  // namespace robusta
