// How many tiles are worked on at a time: sized after the caches, so that transformed tiles and filters are in the
// second level where each worker has tiles of its own, and in the third where all work together.

#include "layers/backends/winograd/tiled_problem.h"

#include "layers/backends/onednn/layout.h"

namespace robusta::winograd {

using onednn::ConvolutionProblem;
using onednn::Direction;

TiledProblem::TiledProblem(const ConvolutionProblem& problem, Direction direction)
    : geometry_(problem.geometry),
      direction_(direction),
      lanes_(onednn::channel_block(onednn::layout_of(problem.src))),
      workers_(omp_get_max_threads()) {
  const WindowAxis &y = geometry_.axes[0], &x = geometry_.axes[1];
  const int64_t taps = y.kernel, step = kPoints + 1 - taps;
  const bool back = direction == Direction::kBackwardData;
  const int64_t height = back ? y.in : y.out, width = back ? x.in : x.out;
  tiling_ = {(height + step - 1) / step, (width + step - 1) / step, step, back ? taps - 1 - y.pad : y.pad,
             back ? taps - 1 - x.pad : x.pad};
  src_ = planes(y.in, x.in, geometry_.channels);
  dst_ = planes(y.out, x.out, geometry_.num_output);
  tiles_ = geometry_.batch * tiling_.per_sample();
  plan_pieces();
}

FilterView TiledProblem::view() const {
  const int taps = static_cast<int>(geometry_.axes[0].kernel);
  const int64_t outputs = geometry_.num_output / geometry_.group, inputs = geometry_.channels / geometry_.group;
  const int64_t square = taps * taps;
  if (direction_ == Direction::kBackwardData) return {inputs, outputs, square, inputs * square, taps, true, lanes_};
  return {outputs, inputs, inputs * square, square, taps, false, lanes_};
}

void TiledProblem::plan_pieces() {
  constexpr int64_t kSecondLevel = 600 << 10, kThirdLevel = 8 << 20;  // bytes of these caches to fill
  const int64_t weight_bytes = view().transformed() * 4;
  const int64_t tile_bytes = kProducts * 4 * (src_.channels() + dst_.channels());
  // Weights that outweigh all tiles are read once, not by each worker.
  together_ = weight_bytes > 6 << 20 || weight_bytes > tiles_ * tile_bytes;
  // Long enough that the weights, or sums of their size that backward reads and writes, count little beside.
  const bool sums = direction_ == Direction::kBackwardWeights;
  const int64_t apart = std::max(kSecondLevel, weight_bytes / 2);
  const int64_t wanted = !together_ ? apart : sums ? 2 * weight_bytes : kThirdLevel;
  const int64_t all = together_ ? tiles_ : (tiles_ + workers_ - 1) / workers_;
  piece_ = round_up(std::clamp<int64_t>(wanted / tile_bytes, 1, all), kTileRows);
}

Planes TiledProblem::planes(int64_t height, int64_t width, int64_t channels) const {
  const int64_t blocks = (channels + lanes_ - 1) / lanes_;
  return {height, width, blocks, 0, blocks / geometry_.group, lanes_};
}

}  // namespace robusta::winograd
