// Rows are copied whole; only what surrounds an image is written pixel by pixel.

#include "data/transform/image_step.h"

#include <algorithm>

namespace robusta {
namespace {

void cut(const PixelRect& rect, const Pixels& from, Image& to) {
  to.reset({from.extent.channels, rect.height, rect.width});
  for (int64_t c = 0; c < from.extent.channels; ++c) {
    for (int64_t y = 0; y < rect.height; ++y) {
      const int64_t row = (c * from.extent.height + rect.top + y) * from.extent.width;
      std::copy_n(from.bytes + row + rect.left, rect.width, to.row(c, y));
    }
  }
}

/// Where in 0..size-1 the surroundings take a pixel from.
int64_t source_of(int64_t at, int64_t size, Surroundings around) {
  if (around == Surroundings::kRepeated || size == 1) return std::clamp<int64_t>(at, 0, size - 1);
  const int64_t period = 2 * (size - 1);
  const int64_t in_period = ((at % period) + period) % period;
  return std::min(in_period, period - in_period);
}

void write_outside(const ImageStep& step, const Pixels& inside, Image& to) {
  const PixelRect& rect = step.rect;
  for (int64_t c = 0; c < to.extent.channels; ++c) {
    const uint8_t* plane = inside.bytes + c * rect.height * rect.width;
    for (int64_t y = 0; y < step.height; ++y) {
      const uint8_t* row = plane + source_of(y - rect.top, rect.height, step.around) * rect.width;
      for (int64_t x = 0; x < step.width; ++x) to.row(c, y)[x] = row[source_of(x - rect.left, rect.width, step.around)];
    }
  }
}

void place(const ImageStep& step, const Pixels& inside, Image& to) {
  to.reset({inside.extent.channels, step.height, step.width});
  if (step.around != Surroundings::kConstant) return write_outside(step, inside, to);
  for (int64_t c = 0; c < to.extent.channels; ++c) {
    const uint8_t fill = step.fill.empty() ? 0 : step.fill[step.fill.size() > 1 ? static_cast<size_t>(c) : 0];
    std::fill_n(to.row(c, 0), step.height * step.width, fill);
    for (int64_t y = 0; y < step.rect.height; ++y) {
      std::copy_n(inside.bytes + (c * step.rect.height + y) * step.rect.width, step.rect.width,
                  to.row(c, step.rect.top + y) + step.rect.left);
    }
  }
}

}  // namespace

void take_step(const ImageStep& step, const Pixels& from, Image& memory, Image& to) {
  const PixelRect& rect = step.rect;
  if (step.kind == ImageStep::Kind::kCut) return cut(rect, from, to);
  const bool same_size = from.extent.height == rect.height && from.extent.width == rect.width;
  if (rect.height == step.height && rect.width == step.width)
    return resize_image(from, step.height, step.width, step.interpolation, to);
  if (same_size) return place(step, from, to);
  resize_image(from, rect.height, rect.width, step.interpolation, memory);
  place(step, memory.pixels(), to);
}

}  // namespace robusta
