// Bilinear resizing in the arithmetic of OpenCV's INTER_LINEAR for bytes: weights of 11 bits, the rows first.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/simd.h"
#include "data/image.h"

namespace robusta {
namespace {

constexpr int kWeightBits = 11;

/// Output i mixes inputs `first` and `second` by weights that add up to 2^11.
struct Tap {
  int64_t first, second;
  int first_weight, second_weight;
};

enum class Axis { kColumns, kRows };

/// At an edge both inputs of a tap are the same; only columns then put the whole weight on one of them, which matters
/// for the rounding.
std::vector<Tap> make_taps(Axis axis, int64_t from, int64_t to) {
  std::vector<Tap> taps(static_cast<size_t>(to));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const auto at = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    const int64_t first = static_cast<int64_t>(std::floor(at));
    const bool edge = first < 0 || first >= from - 1;
    const float fraction = edge && axis == Axis::kColumns ? 0 : at - static_cast<float>(first);
    constexpr float kOne = 1 << kWeightBits;
    taps[static_cast<size_t>(i)] = {
        std::clamp<int64_t>(first, 0, from - 1), std::clamp<int64_t>(first + 1, 0, from - 1),
        static_cast<int>(std::lrint((1 - fraction) * kOne)), static_cast<int>(std::lrint(fraction * kOne))};
  }
  return taps;
}

/// Eight outputs beside one another, whose inputs lie within 16 bytes: these are loaded once and shuffled, instead of
/// two loads for each output.
struct Block {
  static constexpr int64_t kOutputs = 8, kInputs = 16;
  using Bytes = uint8_t __attribute__((vector_size(kInputs)));
  using Half = uint8_t __attribute__((vector_size(kOutputs)));
  using Shorts = int16_t __attribute__((vector_size(kOutputs * sizeof(int16_t))));
  using Sums = int __attribute__((vector_size(kOutputs * sizeof(int))));

  int64_t input = 0;    ///< where the 16 bytes begin; -1: they do not suffice
  Bytes first, second;  ///< which of them each output takes; the upper half is not used
  Sums first_weight, second_weight;
};

/// Of whole blocks; what is left of the row has none.
std::vector<Block> make_blocks(std::span<const Tap> taps, int64_t width) {
  std::vector<Block> blocks(taps.size() / Block::kOutputs);
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block& block = blocks[i];
    const Tap* tap = &taps[i * Block::kOutputs];
    block.input = std::min(tap[0].first, width - Block::kInputs);
    if (tap[Block::kOutputs - 1].second - block.input >= Block::kInputs) block.input = -1;
    if (block.input < 0) continue;
    for (int64_t x = 0; x < Block::kOutputs; ++x) {
      block.first[x] = static_cast<uint8_t>(tap[x].first - block.input);
      block.second[x] = static_cast<uint8_t>(tap[x].second - block.input);
      block.first_weight[x] = tap[x].first_weight;
      block.second_weight[x] = tap[x].second_weight;
    }
  }
  return blocks;
}

/// The bytes at these places, the first eight as ints.
inline __attribute__((always_inline)) void pick(const Block::Bytes& from, const Block::Bytes& places,
                                                Block::Sums& picked) {
#if defined(__clang__)
  for (int64_t x = 0; x < Block::kOutputs; ++x) picked[x] = from[places[x]];
#else
  const Block::Bytes all = __builtin_shuffle(from, places);
  Block::Half half;
  std::memcpy(&half, &all, sizeof half);
  picked = __builtin_convertvector(half, Block::Sums);
#endif
}

/// The horizontal pass over one row: values times 2^7, at most 255 * 2^7, so that they fit into 16 bits and the
/// vertical pass multiplies twice as many at a time.
ROBUSTA_SIMD void mix_columns(const uint8_t* row, std::span<const Tap> taps, const std::vector<Block>& blocks,
                              int16_t* out) {
  size_t x = 0;
  for (const Block& block : blocks) {
    if (block.input < 0) break;
    Block::Bytes inputs;
    std::memcpy(&inputs, row + block.input, sizeof inputs);
    Block::Sums first, second;
    pick(inputs, block.first, first);
    pick(inputs, block.second, second);
    const Block::Sums sums = (first * block.first_weight + second * block.second_weight) >> 4;
    const auto halves = __builtin_convertvector(sums, Block::Shorts);
    std::memcpy(out + x, &halves, sizeof halves);
    x += Block::kOutputs;
  }
  for (; x < taps.size(); ++x) {
    const int sum = row[taps[x].first] * taps[x].first_weight + row[taps[x].second] * taps[x].second_weight;
    out[x] = static_cast<int16_t>(sum >> 4);
  }
}

ROBUSTA_SIMD void mix_rows(const int16_t* __restrict upper, const int16_t* __restrict lower, int16_t upper_weight,
                           int16_t lower_weight, size_t width, uint8_t* __restrict out) {
  for (size_t x = 0; x < width; ++x) {
    const auto sum = static_cast<int16_t>((upper_weight * upper[x] >> 16) + (lower_weight * lower[x] >> 16));
    out[x] = static_cast<uint8_t>((sum + 2) >> 2);
  }
}

}  // namespace

void resize_bilinear(const Pixels& from, int64_t height, int64_t width, Image& to) {
  resize_part_bilinear(from, height, width, {0, 0, height, width}, to);
}

PixelRect read_by_resize(const Extent& from, int64_t height, int64_t width, const PixelRect& part) {
  if (height == from.height && width == from.width) return part;
  const std::vector<Tap> columns = make_taps(Axis::kColumns, from.width, width);
  const std::vector<Tap> rows = make_taps(Axis::kRows, from.height, height);
  const auto read = [](const std::vector<Tap>& taps, int64_t first, int64_t count) {
    const int64_t begin = taps[static_cast<size_t>(first)].first;
    return std::pair{begin, taps[static_cast<size_t>(first + count - 1)].second + 1 - begin};
  };
  const auto [top, read_rows] = read(rows, part.top, part.height);
  const auto [left, read_columns] = read(columns, part.left, part.width);
  return {top, left, read_rows, read_columns};
}

void resize_part_bilinear(const Pixels& from, int64_t height, int64_t width, const PixelRect& part, Image& to) {
  assert(height > 0 && width > 0 && from.bytes);
  assert(part.top >= 0 && part.top + part.height <= height && part.left >= 0 && part.left + part.width <= width);
  to.reset({from.extent.channels, height, width});
  if (to.extent == from.extent) {
    std::copy_n(from.bytes, from.extent.count(), to.planes.data());
    return;
  }
  const std::vector<Tap> columns = make_taps(Axis::kColumns, from.extent.width, width);
  const std::span<const Tap> mixed =
      std::span(columns).subspan(static_cast<size_t>(part.left), static_cast<size_t>(part.width));
  const std::vector<Block> blocks = make_blocks(mixed, from.extent.width);
  const std::vector<Tap> rows = make_taps(Axis::kRows, from.extent.height, height);
  const size_t stride = static_cast<size_t>(part.width);
  std::vector<int16_t> upper(stride), lower(stride);
  for (int64_t c = 0; c < from.extent.channels; ++c) {
    const uint8_t* plane = from.bytes + c * from.extent.height * from.extent.width;
    const auto row = [&](int64_t y) { return plane + y * from.extent.width; };
    int64_t in_upper = -1, in_lower = -1;  // the input rows that the two buffers hold
    for (int64_t y = part.top; y < part.top + part.height; ++y) {
      const Tap& tap = rows[static_cast<size_t>(y)];
      if (tap.first == in_lower) std::swap(upper, lower), std::swap(in_upper, in_lower);
      if (tap.first != in_upper) mix_columns(row(in_upper = tap.first), mixed, blocks, upper.data());
      if (tap.second != in_lower) mix_columns(row(in_lower = tap.second), mixed, blocks, lower.data());
      mix_rows(upper.data(), lower.data(), static_cast<int16_t>(tap.first_weight),
               static_cast<int16_t>(tap.second_weight), stride, to.row(c, y) + part.left);
    }
  }
}

}  // namespace robusta
