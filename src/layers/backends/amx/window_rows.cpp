// Images are copied a row at a time; rows above and below are not, for a whole row of the window lies in or out.

#include "layers/backends/amx/window_rows.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/amx/tile_products.h"

namespace robusta::amx {

WindowRows::WindowRows(const ConvolutionGeometry& geometry)
    : geometry_(geometry),
      joins_(geometry.channels < kTile && x().kernel > 1 && x().dilation == 1),
      pads_(joins_ && (x().pad > 0 || x().pad_behind() > 0)),
      products_(joins_ ? y().kernel : taps()),
      lines_(joins_ ? x().kernel * geometry.channels : geometry.channels),
      width_(pads_ ? x().padded_in() : x().in),
      at_(static_cast<size_t>(lines_)),
      zeros_(static_cast<size_t>(lines_)) {
  for (int64_t line = 0; line < lines_; ++line) {
    const int64_t channel = line % geometry.channels, tap = line / geometry.channels;
    at_[static_cast<size_t>(line)] = channel * taps() + tap;
  }
}

size_t WindowRows::padded_bytes() const {
  return pads_ ? static_cast<size_t>(geometry_.batch * y().in * width_ * geometry_.channels) * sizeof(uint16_t) : 0;
}

const uint16_t* WindowRows::pad(const uint16_t* images, void* memory) const {
  if (!pads_) return images;
  auto* padded = static_cast<uint16_t*>(memory);
  const int64_t inside = std::min(x().in, width_ - x().pad) * geometry_.channels, from = x().in * geometry_.channels;
  const int64_t before = x().pad * geometry_.channels, row = width_ * geometry_.channels;
  parallel_for(geometry_.batch * y().in, 16, [=](int64_t i) {
    uint16_t* to = padded + i * row;
    std::fill_n(to, before, uint16_t{0});
    std::copy_n(images + i * from, inside, to + before);
    std::fill(to + before + inside, to + row, uint16_t{0});
  });
  return padded;
}

void WindowRows::find(const uint16_t* images, int64_t product, Range pixels, const uint16_t** places) const {
  const int64_t tap_row = joins_ ? product : product / x().kernel;
  const int64_t first_column = joins_ ? 0 : product % x().kernel * x().dilation - x().pad;
  for (int64_t begin = pixels.begin, end = 0; begin < pixels.end; begin = end) {
    const int64_t results = begin / x().out, image = results / y().out;  // a row of results
    end = std::min((results + 1) * x().out, pixels.end);
    const int64_t row = results % y().out * y().stride - y().pad + tap_row * y().dilation;
    if (row < 0 || row >= y().in) {
      std::fill_n(places, end - begin, zeros_.data());
    } else {
      const uint16_t* at = images + (image * y().in + row) * width_ * geometry_.channels;
      find_in_row(at, first_column, {begin - results * x().out, end - results * x().out}, places);
    }
    places += end - begin;
  }
}

void WindowRows::find_in_row(const uint16_t* row, int64_t first_column, Range results, const uint16_t** places) const {
  int64_t column = first_column + results.begin * x().stride;
  for (int64_t i = results.begin; i < results.end; ++i, column += x().stride) {
    const bool inside = column >= 0 && column < width_;
    *places++ = inside ? row + column * geometry_.channels : zeros_.data();
  }
}

}  // namespace robusta::amx
