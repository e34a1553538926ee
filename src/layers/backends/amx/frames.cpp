// Rows of an image, and images, overlap by the zeros that they share. Both write them: by SeenAxis::gap(), neither has
// pixels there.

#include "layers/backends/amx/frames.h"

#include <algorithm>
#include <cstring>

#include "ops/amx/panels.h"

namespace robusta::amx {
namespace {

/// Lines of a tile that are a multiple of 1 KiB apart would fall into few sets of a first-level cache.
int64_t pitch_of(int64_t steps) {
  const int64_t elements = steps * kStepTerms;
  return elements % 512 == 0 ? elements + kStepTerms : elements;
}

}  // namespace

Frames::Frames(int64_t images, int64_t channels, int64_t next_pixel, const SeenAxis& y, const SeenAxis& x,
               int64_t places, int64_t workers)
    : images_(images),
      channels_(channels),
      next_pixel_(next_pixel),
      y_(y),
      x_(x),
      lies_in_images_(y.sees_itself() && x.sees_itself() && channels % kStepTerms == 0),
      steps_(steps_of(channels)),
      pitch_(lies_in_images_ ? next_pixel : pitch_of(steps_)),
      width_(x.results + x.gap()),
      groups_(images) {
  const int64_t rows = std::max<int64_t>(places / width_ - y.reach(), 1);
  const int64_t of_image = y.results + y.gap();
  if (rows >= of_image && images >= workers) {
    const int64_t most = std::clamp<int64_t>(rows / of_image, 1, images / workers);
    // As many groups as give each worker the same number of them.
    groups_ = std::min(((images + most - 1) / most + workers - 1) / workers * workers, images);
  } else {
    // Of few images each is cut, lest workers have nothing to do.
    const int64_t wanted = images < workers ? (workers + images - 1) / images : 1;
    cuts_ = std::min(std::max((y.results + rows - 1) / rows, wanted), y.results);
  }
  for (int64_t i = 0; i < y.kernel; ++i) {
    for (int64_t j = 0; j < x.kernel; ++j) taps_.push_back((i * y.dilation * width_ + j * x.dilation) * pitch_);
  }
}

Chunk Frames::chunk(int64_t index) const {
  return {part_of(images_, groups_, index / cuts_), part_of(y_.results, cuts_, index % cuts_)};
}

int64_t Frames::rows_in(const Chunk& chunk) const {
  return (chunk.images.size() - 1) * (chunk.rows.size() + y_.gap()) + chunk.rows.size();
}

int64_t Frames::places(const Chunk& chunk) const { return (rows_in(chunk) - 1) * width_ + x_.results; }

Chunk Frames::longest() const {
  return {{0, (images_ + groups_ - 1) / groups_}, {0, (y_.results + cuts_ - 1) / cuts_}};
}

int64_t Frames::most_places() const { return places(longest()); }

size_t Frames::frame_bytes() const {
  // Tiles may begin in the last place.
  const int64_t pixels = x_.pad + (rows_in(longest()) + y_.reach()) * width_ + x_.reach() + kPanelLines;
  return static_cast<size_t>(pixels * pitch_) * sizeof(uint16_t);
}

void Frames::copy_row(const uint16_t* from, uint16_t* to) const {
  const int64_t seen = seen_in_row(), next = x_.step * next_pixel_;
  if (next == pitch_ && channels_ == pitch_) {
    std::memcpy(to, from, static_cast<size_t>(seen * pitch_) * sizeof *to);
  } else {
    const int64_t more = steps_ * kStepTerms - channels_;
    for (int64_t i = 0; i < seen; ++i) {
      std::memcpy(to + i * pitch_, from + i * next, static_cast<size_t>(channels_) * sizeof *to);
      std::fill_n(to + i * pitch_ + channels_, more, uint16_t{0});
    }
  }
  std::fill(to + seen * pitch_, to + width_ * pitch_, uint16_t{0});
}

const uint16_t* Frames::show(const uint16_t* images, const Chunk& chunk, uint16_t* frame) const {
  const int64_t first = (chunk.images.begin * y_.pixels + chunk.rows.begin) * x_.pixels;
  // Tiles that reach beyond the last image are of a copy.
  const int64_t behind = first + (places(chunk) + kTile - 1) / kTile * kTile;
  if (lies_in_images_ && behind <= images_ * y_.pixels * x_.pixels) return images + first * next_pixel_;
  copy(images, chunk, frame);
  return frame;
}

template <typename Body>
void Frames::for_rows(const uint16_t* images, const Chunk& chunk, const Body& body) const {
  for (int64_t image = chunk.images.begin; image < chunk.images.end; ++image) {
    const int64_t first = x_.pad + (image - chunk.images.begin) * next_image(chunk);
    for (int64_t row = 0; row < chunk.rows.size() + y_.reach(); ++row) {
      const int64_t y = (chunk.rows.begin + row) * y_.step - y_.pad;
      const bool inside = y >= 0 && y < y_.pixels;
      body(inside ? images + (image * y_.pixels + y) * x_.pixels * next_pixel_ : nullptr, first + row * width_);
    }
  }
}

void Frames::copy(const uint16_t* images, const Chunk& chunk, uint16_t* frame) const {
  std::fill_n(frame, x_.pad * pitch_, uint16_t{0});
  for_rows(images, chunk, [&](const uint16_t* row, int64_t place) {
    if (row) return copy_row(row, frame + place * pitch_);
    std::fill_n(frame + place * pitch_, width_ * pitch_, uint16_t{0});
  });
}

void Frames::find_pixels(const uint16_t* images, const Chunk& chunk, const uint16_t* zeros, int64_t count,
                         const uint16_t** pixels) const {
  std::fill_n(pixels, count, zeros);
  for_rows(images, chunk, [&](const uint16_t* row, int64_t place) {
    if (!row) return;
    const int64_t there = std::min(seen_in_row(), count - place);
    for (int64_t x = 0; x < there; ++x) pixels[place + x] = row + x * next_pixel_;
  });
}

void Frames::find_results(const Chunk& chunk, int64_t* results) const {
  std::fill_n(results, places(chunk), int64_t{-1});
  for (int64_t image = chunk.images.begin; image < chunk.images.end; ++image) {
    for (int64_t row = chunk.rows.begin; row < chunk.rows.end; ++row) {
      const int64_t first = (image - chunk.images.begin) * next_image(chunk) + (row - chunk.rows.begin) * width_;
      for (int64_t x = 0; x < x_.results; ++x) results[first + x] = (image * y_.results + row) * x_.results + x;
    }
  }
}

}  // namespace robusta::amx
