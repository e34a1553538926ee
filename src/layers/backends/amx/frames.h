/// Images whose pixels are rows of a matrix, such that what a tap sees of all results is a run of those rows.
///
/// A frame holds some rows of an image, or several images, channels last, one row of pixels after the other, with zeros
/// where the window reaches beyond the image. Between two rows there are only as many zeros as either side wants, for
/// the end of one is the beginning of the next; so are images under one another. A tap then sees, of the result in
/// place q, the pixel in place q + at(tap), whatever q is: sixteen places are the lines of a tile. Places between the
/// rows of results have no result. What they see is multiplied by zeros in the gradient of filters, where an infinite
/// activation then spreads a little further than it would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/amx/ranges.h"
#include "ops/amx/tile_products.h"
#include "ops/window.h"

namespace robusta::amx {

/// Result i sees the pixels i * step - pad + tap * dilation.
struct SeenAxis {
  int64_t pixels, results;
  int64_t kernel = 1, step = 1, pad = 0, dilation = 1;

  int64_t reach() const { return (kernel - 1) * dilation; }
  int64_t pad_behind() const { return reach() - pad; }
  /// Zeros between two images, or rows of pixels.
  int64_t gap() const {
    const int64_t unseen = pixels > results && kernel > 1 ? pixels - results : 0;  // that lie there too
    return pad + unseen > pad_behind() ? pad + unseen : pad_behind();
  }
  bool sees_itself() const { return kernel == 1 && step == 1 && pixels == results; }
  /// Whether frames can show it.
  bool fits() const {
    if (kernel == 1) return pad == 0 && (results - 1) * step < pixels;
    return step == 1 && pad >= 0 && pad_behind() >= 0;
  }
};

inline SeenAxis seen_by_results(const WindowAxis& axis) {
  return {axis.in, axis.out, axis.kernel, axis.stride, axis.pad, axis.dilation};
}

/// Whole images, or some rows of results of one.
struct Chunk {
  Range images, rows;
};

class Frames {
 public:
  /// Of `channels` channels of each pixel, which are `next_pixel` elements apart. A frame has about so many places, and
  /// there are enough of them for each of `workers`, if images have as many rows.
  Frames(int64_t images, int64_t channels, int64_t next_pixel, const SeenAxis& y, const SeenAxis& x, int64_t places,
         int64_t workers);

  int64_t chunks() const { return groups_ * cuts_; }
  Chunk chunk(int64_t index) const;

  /// Elements from one place to the next. In a copy these are channels in whole steps, and more where lines of a tile
  /// would fall into one set of the first-level cache; where rows lie in the images, what is there.
  int64_t pitch() const { return pitch_; }
  int64_t steps() const { return steps_; }
  /// By tap, in elements of a copy.
  const std::vector<int64_t>& taps() const { return taps_; }

  size_t frame_bytes() const;   ///< the most that a chunk takes
  int64_t most_places() const;  ///< the most that have results, and those between
  int64_t places(const Chunk& chunk) const;

  /// What the results of the chunk see: a copy in `frame`, or the images themselves where they lie like that.
  const uint16_t* show(const uint16_t* images, const Chunk& chunk, uint16_t* frame) const;
  /// Where the channels begin of what lies in each place of a frame, of which there are `count`; `zeros` between rows.
  void find_pixels(const uint16_t* images, const Chunk& chunk, const uint16_t* zeros, int64_t count,
                   const uint16_t** pixels) const;
  /// Which result is in each place, counted over all images; -1: none.
  void find_results(const Chunk& chunk, int64_t* results) const;

 private:
  int64_t next_image(const Chunk& chunk) const { return (chunk.rows.size() + y_.gap()) * width_; }
  Chunk longest() const;
  /// Pixels of a row that results see, and those between.
  int64_t seen_in_row() const { return x_.kernel > 1 ? x_.pixels : x_.results; }
  void copy(const uint16_t* images, const Chunk& chunk, uint16_t* frame) const;
  int64_t rows_in(const Chunk& chunk) const;
  void copy_row(const uint16_t* from, uint16_t* to) const;
  /// body(pixels of a row of images, its first place) for each row that a frame has; null: it is beyond the image.
  template <typename Body>
  void for_rows(const uint16_t* images, const Chunk& chunk, const Body& body) const;

  int64_t images_, channels_, next_pixel_;
  SeenAxis y_, x_;
  bool lies_in_images_;
  int64_t steps_, pitch_, width_;  // width: places from one row to the next
  int64_t groups_, cuts_ = 1;      // of images; of the rows of each
  std::vector<int64_t> taps_;
};

}  // namespace robusta::amx
