/// How the channels of a batch normalisation lie, and its arithmetic on a piece of them: all pixels of some channels of
/// one sample. Both kinds have the same members, for the templates of batch_norm_native.cpp.
#pragma once

#include <algorithm>

#include "layers/types/batch_norm/channel_blocks.h"
#include "layers/types/batch_norm/pixel_rows.h"

namespace robusta::batch_norm {

struct Piece {
  int64_t n;        ///< sample
  int64_t channel;  ///< the first one
  int64_t at;       ///< where it begins, in elements
};

/// Arrays of all channels.
struct OfChannels {
  channel_blocks::Affine affine;
  const float *constant, *linear;

  channel_blocks::Affine affine_from(int64_t c) const {
    return {affine.mean + c, affine.factor + c, affine.shift + c, affine.slope};
  }
};

/// f32, in blocks of N channels.
template <int N>
class InBlocks {
 public:
  using Stored = float;
  InBlocks(int64_t channels, int64_t pixels) : width_((channels + N - 1) / N * N), pixels_(pixels) {}

  int64_t width() const { return width_; }       ///< channels, with those that fill up the last block
  int64_t pieces() const { return width_ / N; }  ///< of a sample
  Piece piece(int64_t n, int64_t index) const { return {n, index * N, (n * width_ + index * N) * pixels_}; }
  /// Where channel c of the first pixel lies.
  int64_t origin(int64_t c) const { return c / N * N * pixels_ + c % N; }

  void add_moments(const float* x, const Piece& piece, double* first, double* second) const {
    channel_blocks::add_moments<N>(x + piece.at, pixels_, x + origin(piece.channel), first, second);
  }
  void normalise(const float* x, const Piece& piece, const OfChannels& of, float* y) const {
    channel_blocks::normalise<N>(x + piece.at, pixels_, of.affine_from(piece.channel), y + piece.at);
  }
  void normalise_joined(const float* x, const float* other, const Piece& piece, const OfChannels& of, float* y) const {
    channel_blocks::normalise_joined<N>(x + piece.at, other + piece.at, pixels_, of.affine_from(piece.channel),
                                        y + piece.at);
  }
  void add_joined_sums(const float* x, const channel_blocks::JoinedGradients<float>& all, const Piece& piece,
                       const OfChannels& of, double* first, double* second) const {
    channel_blocks::add_joined_sums<N>(x + piece.at, all.from(piece.at), pixels_, of.affine_from(piece.channel), first,
                                       second);
  }
  void add_gradient_sums(const float* x, const float* dy, const Piece& piece, const OfChannels& of, double* first,
                         double* second) const {
    channel_blocks::add_gradient_sums<N>(x + piece.at, dy + piece.at, pixels_, of.affine_from(piece.channel), first,
                                         second);
  }
  void propagate(const float* x, const float* dy, const Piece& piece, const OfChannels& of, float* dx) const {
    channel_blocks::propagate<N>(x + piece.at, dy + piece.at, pixels_, of.affine_from(piece.channel),
                                 of.constant + piece.channel, of.linear + piece.channel, dx + piece.at);
  }

 private:
  int64_t width_, pixels_;
};

/// bf16, channels last. REQUIRES: a multiple of 16 channels.
class ChannelsLast {
 public:
  using Stored = BFloat16;
  ChannelsLast(int64_t channels, int64_t pixels) : channels_(channels), pixels_(pixels) {
    // Of about one size, but in whole lines of the cache.
    constexpr int64_t kLine = 32;
    const int64_t pieces = (channels + pixel_rows::kMostChannels - 1) / pixel_rows::kMostChannels;
    most_ = std::min(((channels + pieces - 1) / pieces + kLine - 1) / kLine * kLine, channels);
  }

  int64_t width() const { return channels_; }
  int64_t pieces() const { return (channels_ + most_ - 1) / most_; }
  Piece piece(int64_t n, int64_t index) const { return {n, index * most_, n * pixels_ * channels_ + index * most_}; }
  int64_t origin(int64_t c) const { return c; }

  void add_moments(const BFloat16* x, const Piece& piece, double* first, double* second) const {
    pixel_rows::add_moments(x + piece.at, rows(piece), x + piece.channel, first, second);
  }
  void normalise(const BFloat16* x, const Piece& piece, const OfChannels& of, BFloat16* y) const {
    pixel_rows::normalise(x + piece.at, rows(piece), of.affine_from(piece.channel), y + piece.at);
  }
  void normalise_joined(const BFloat16* x, const BFloat16* other, const Piece& piece, const OfChannels& of,
                        BFloat16* y) const {
    pixel_rows::normalise_joined(x + piece.at, other + piece.at, rows(piece), of.affine_from(piece.channel),
                                 y + piece.at);
  }
  void add_joined_sums(const BFloat16* x, const pixel_rows::JoinedGradients& all, const Piece& piece,
                       const OfChannels& of, double* first, double* second) const {
    pixel_rows::add_joined_sums(x + piece.at, all.from(piece.at), rows(piece), of.affine_from(piece.channel), first,
                                second);
  }
  void add_gradient_sums(const BFloat16* x, const BFloat16* dy, const Piece& piece, const OfChannels& of, double* first,
                         double* second) const {
    pixel_rows::add_gradient_sums(x + piece.at, dy + piece.at, rows(piece), of.affine_from(piece.channel), first,
                                  second);
  }
  void propagate(const BFloat16* x, const BFloat16* dy, const Piece& piece, const OfChannels& of, BFloat16* dx) const {
    pixel_rows::propagate(x + piece.at, dy + piece.at, rows(piece), of.affine_from(piece.channel),
                          of.constant + piece.channel, of.linear + piece.channel, dx + piece.at);
  }

 private:
  pixel_rows::Rows rows(const Piece& piece) const {
    return {pixels_, channels_, std::min(most_, channels_ - piece.channel)};
  }

  int64_t channels_, pixels_, most_;  // most_: channels of a piece
};

}  // namespace robusta::batch_norm
