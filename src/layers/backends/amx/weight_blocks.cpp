// The sizes suit a second-level cache of 2 MiB, which all processors with AMX have: at most 512 KiB of sums, and in
// weights_pass.h 160 KiB of gradients and 320 KiB of inputs.

#include "layers/backends/amx/weight_blocks.h"

#include <algorithm>

#include "ops/amx/panels.h"

namespace robusta::amx {
namespace {

constexpr int64_t cuts(int64_t count, int64_t most) { return (count + most - 1) / most; }

/// The shares of the terms with which the last of the threads is done first; fewer where that gains less than a
/// twentieth, for each share has sums of its own.
int64_t best_shares(int64_t blocks, int64_t most, int64_t threads) {
  const auto time = [&](int64_t shares) {
    return static_cast<double>(cuts(blocks * shares, threads)) / static_cast<double>(shares);
  };
  int64_t best = 1;
  for (int64_t shares = 2; shares <= std::min(most, 2 * cuts(threads, blocks)); ++shares) {
    if (time(shares) < 0.95 * time(best)) best = shares;
  }
  return best;
}

}  // namespace

WeightBlocks::WeightBlocks(int64_t outputs, int64_t inputs, int64_t products, int64_t terms, int64_t threads,
                           int64_t unit, int64_t most_in)
    : panels_out(panels_of(outputs)),
      panels_in(panels_of(inputs)),
      products(products),
      terms(terms),
      cuts_out(cuts(panels_out, kMostPanelsOut)),
      cuts_in(cuts(panels_in, most_in)),
      cuts_products(cuts(products, std::max<int64_t>(kMostSums / (most_panels_out() * most_panels_in()), 1))),
      shares(best_shares(blocks(), cuts(terms, unit), threads)) {}

WeightBlocks::Piece WeightBlocks::piece(int64_t index) const {
  const int64_t share = index % shares, block = index / shares;
  const int64_t out = block % cuts_out, in = block / cuts_out % cuts_in, product = block / cuts_out / cuts_in;
  return {part_of(panels_out, cuts_out, out), part_of(panels_in, cuts_in, in),
          part_of(products, cuts_products, product), part_of(terms, shares, share), share};
}

}  // namespace robusta::amx
