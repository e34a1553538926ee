/// How the gradient of a convolution's filters is cut into pieces of work.
///
/// A block is some outputs by some inputs, of some of the products: as many as have sums, of 4 KiB for 32 outputs by 32
/// inputs, that stay in a second-level cache with the panels of a chunk of pixels. Where there are fewer blocks than
/// threads, the terms are shared out, too, and the sums of the shares are added up in the end, always in the same
/// order.
#pragma once

#include <cstdint>

#include "ops/amx/ranges.h"

namespace robusta::amx {

/// Of outputs, and of inputs, in a block.
inline constexpr int64_t kMostPanelsOut = 8, kMostPanelsIn = 16;
/// Blocks of 32 x 32 sums that stay in a second-level cache.
inline constexpr int64_t kMostSums = kMostPanelsOut * kMostPanelsIn;

struct WeightBlocks {
  /// Of a convolution with so many outputs, inputs, and products (window_rows.h). `terms`: pixels of all results, or
  /// chunks of them, which are shared out by `unit`. `most_in`: panels of inputs in a block.
  WeightBlocks(int64_t outputs, int64_t inputs, int64_t products, int64_t terms, int64_t threads, int64_t unit,
               int64_t most_in);

  int64_t panels_out, panels_in, products, terms;
  int64_t cuts_out, cuts_in, cuts_products;  ///< into how many pieces each of them is cut
  int64_t shares;                            ///< and the terms

  int64_t blocks() const { return cuts_out * cuts_in * cuts_products; }
  int64_t pieces() const { return blocks() * shares; }

  struct Piece {
    Range panels_out, panels_in, products, terms;
    int64_t share;
  };
  Piece piece(int64_t index) const;

  /// The longest of any piece.
  int64_t most_panels_out() const { return (panels_out + cuts_out - 1) / cuts_out; }
  int64_t most_panels_in() const { return (panels_in + cuts_in - 1) / cuts_in; }

  /// Blocks of 32 x 32 sums: [share][product][panel of outputs][panel of inputs].
  int64_t sum_blocks() const { return shares * products * panels_out * panels_in; }
  int64_t sum_block(int64_t share, int64_t product, int64_t panel_out, int64_t panel_in) const {
    return ((share * products + product) * panels_out + panel_out) * panels_in + panel_in;
  }
};

/// Pixels whose panels are multiplied at a time. Of 32 channels these are 20 KiB: two such fit into a first-level
/// cache.
inline constexpr int64_t kChunk = 320;

}  // namespace robusta::amx
