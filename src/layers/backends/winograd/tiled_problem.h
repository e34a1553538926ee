/// How the tiles of a convolution go through the stages of Winograd's method, and on which threads.
///
/// With few channels each worker takes pieces of its own through all stages, in its own cache. With many, transformed
/// weights are far larger than that; then all workers take each piece together, split by tiles to transform and by
/// points to multiply, so that weights are read once per piece. Immutable; describes one group of channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "layers/backends/onednn/convolution_problem.h"
#include "layers/backends/winograd/filters.h"
#include "layers/backends/winograd/tile_products.h"
#include "layers/backends/winograd/tiles.h"

namespace robusta::winograd {

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Some tiles that are worked on at a time, and the buffers that they use: those of one worker, or of all.
struct Piece {
  int64_t slot, begin, count;  ///< which buffers; tiles of the batch
};

class TiledProblem {
 public:
  TiledProblem(const onednn::ConvolutionProblem& problem, onednn::Direction direction);

  const Tiling& tiling() const { return tiling_; }
  Planes src(int64_t group) const { return of_group(src_, group); }
  Planes dst(int64_t group) const { return of_group(dst_, group); }
  int64_t groups() const { return geometry_.group; }
  int64_t workers() const { return workers_; }
  /// Channels of a block.
  int64_t lanes() const { return lanes_; }
  /// So few that transforming the filters takes a good part of the time, as in inference of single images.
  bool has_few_tiles() const { return tiles_ <= kFewTiles; }
  /// How many pieces are worked on at the same time.
  int64_t slots() const { return together_ ? 1 : workers_; }

  FilterView view() const;
  /// Floats of one group's plain weights.
  int64_t weight_count() const { return geometry_.weight_shape().count() / geometry_.group; }

  /// Floats from tile to tile and from point to point of a piece: a cache line more than needed where neighbours would
  /// meet in the same sets of the cache.
  int64_t row(int64_t channels) const { return channels % 128 == 0 ? channels + kLine : channels; }
  int64_t stride(int64_t channels) const { return piece_ * row(channels) + kLine; }
  /// Floats of a piece.
  int64_t buffer(int64_t channels) const { return kProducts * stride(channels); }

  /// Takes all tiles through three stages: enter(worker, piece, first, count) and leave(the same) for tiles first to
  /// first + count of the piece, multiply(piece, point) for each point in between.
  template <typename Enter, typename Multiply, typename Leave>
  void run(const Enter& enter, const Multiply& multiply, const Leave& leave) const {
    if (together_) {
      for (int64_t at = 0; at < tiles_; at += piece_) {
        const Piece piece{0, at, std::min(piece_, tiles_ - at)};
        for_shares(piece, enter);
        parallel_for(kProducts, 1, [&](int64_t point) { multiply(piece, point); });
        for_shares(piece, leave);
      }
      return;
    }
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t end = tiles_ * (worker + 1) / workers_;
      for (int64_t at = tiles_ * worker / workers_; at < end; at += piece_) {
        const Piece piece{worker, at, std::min(piece_, end - at)};
        enter(worker, piece, 0, piece.count);
        for (int64_t point = 0; point < kProducts; ++point) multiply(piece, point);
        leave(worker, piece, 0, piece.count);
      }
    });
  }

 private:
  static constexpr int64_t kLine = 16;       ///< floats of a cache line
  static constexpr int64_t kFewTiles = 512;  ///< a filter's transform costs about as much as ten tiles of it

  void plan_pieces();

  template <typename Stage>
  void for_shares(const Piece& piece, const Stage& stage) const {
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t first = piece.count * worker / workers_, end = piece.count * (worker + 1) / workers_;
      if (first < end) stage(worker, piece, first, end - first);
    });
  }

  Planes planes(int64_t height, int64_t width, int64_t channels) const;
  static Planes of_group(Planes planes, int64_t group) {
    planes.first = group * planes.count;
    return planes;
  }

  ConvolutionGeometry geometry_;
  onednn::Direction direction_;
  int64_t lanes_;
  int64_t workers_, tiles_, piece_;  ///< threads; tiles of the batch; tiles of a piece
  bool together_;                    ///< all workers take one piece
  Tiling tiling_;
  Planes src_, dst_;
};

}  // namespace robusta::winograd
