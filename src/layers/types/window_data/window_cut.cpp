// Each axis for itself: grown around its middle, cut at the image's edges, scaled to the square. In floats, as Caffe
// rounds them.

#include "layers/types/window_data/window_cut.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// One axis: the part of the image, and where it lies in the square. `before` and `after` are what the square shows of
/// outside of the image.
struct AxisCut {
  int64_t begin, end;  // inclusive
  int64_t before, after, size;
};

AxisCut cut_axis(float middle, float half, int64_t extent, int64_t crop) {
  const int64_t begin = std::llround(middle - half), end = std::llround(middle + half);
  const int64_t outside_before = std::max<int64_t>(0, -begin), outside_after = std::max<int64_t>(0, end - extent + 1);
  const float scale = static_cast<float>(crop) / static_cast<float>(end - begin + 1);
  const auto scaled = [&](int64_t length) { return std::llround(static_cast<float>(length) * scale); };
  AxisCut cut{begin + outside_before, end - outside_after, scaled(outside_before), scaled(outside_after), 0};
  cut.size = scaled(cut.end - cut.begin + 1);
  return cut;
}

[[noreturn]] void refuse(const Extent& image) {
  throw Error(ErrorKind::kData,
              str("it is outside of the image of ", image.height, " x ", image.width, " (rows x columns)"),
              "correct the window file, whose corners count from 0 and belong to the window");
}

WindowCut grow(const Window& w, const Extent& image, const CutSettings& settings, bool mirror) {
  const int64_t within = settings.crop - 2 * settings.context_pad;
  const float around = static_cast<float>(settings.crop) / static_cast<float>(within);
  float half_width = static_cast<float>(w.x2 - w.x1 + 1) / 2, half_height = static_cast<float>(w.y2 - w.y1 + 1) / 2;
  const float middle_x = static_cast<float>(w.x1) + half_width, middle_y = static_cast<float>(w.y1) + half_height;
  if (settings.square) half_width = half_height = std::max(half_width, half_height);
  const AxisCut x = cut_axis(middle_x, half_width * around, image.width, settings.crop);
  const AxisCut y = cut_axis(middle_y, half_height * around, image.height, settings.crop);
  WindowCut cut{.x1 = x.begin, .y1 = y.begin, .x2 = x.end, .y2 = y.end};
  cut.left = mirror ? x.after : x.before;  // mirrored, the sides are exchanged
  cut.top = y.before;
  // Rounded one by one they may add up to more than the square.
  cut.width = std::min(x.size, settings.crop - cut.left);
  cut.height = std::min(y.size, settings.crop - cut.top);
  return cut;
}

}  // namespace

WindowCut cut_window(const Window& window, const Extent& image, const CutSettings& settings, bool mirror) {
  const bool grows = settings.context_pad > 0 || settings.square;
  const WindowCut cut = grows ? grow(window, image, settings, mirror)
                              : WindowCut{.x1 = window.x1,
                                          .y1 = window.y1,
                                          .x2 = window.x2,
                                          .y2 = window.y2,
                                          .left = 0,
                                          .top = 0,
                                          .width = settings.crop,
                                          .height = settings.crop};
  if (cut.x1 < 0 || cut.y1 < 0 || cut.x1 > cut.x2 || cut.y1 > cut.y2) refuse(image);
  if (cut.x2 >= image.width || cut.y2 >= image.height || cut.width <= 0 || cut.height <= 0) refuse(image);
  return cut;
}

}  // namespace robusta
