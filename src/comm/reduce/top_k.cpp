// The k-th largest magnitude is found by a histogram of the leading bits, which are ordered as the magnitudes are, and
// by looking at the one bin that it falls into: three passes over the elements, two of them without branches.

#include "comm/reduce/top_k.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace robusta::top_k {
namespace {

constexpr uint32_t kInfinity = 0x7f800000;  // bits of f32; those of NaN are above
constexpr int kBinShift = 19;               // bins of the exponent and four bits more
constexpr size_t kBins = size_t{1} << (31 - kBinShift);

uint32_t magnitude_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffu; }

/// The bits of the k-th largest magnitude. REQUIRES: 1 <= k <= values.size().
uint32_t threshold(const std::vector<float>& values, int64_t k) {
  thread_local std::vector<uint32_t> inside;  // kept, as sums allocate nothing
  std::array<int32_t, kBins> histogram{};
  for (const float value : values) ++histogram[magnitude_bits(value) >> kBinShift];
  size_t bin = kBins - 1;
  int64_t above = 0;
  while (above + histogram[bin] < k) above += histogram[bin--];
  inside.clear();
  for (const float value : values) {
    if (magnitude_bits(value) >> kBinShift == bin) inside.push_back(magnitude_bits(value));
  }
  const auto place = inside.begin() + (k - above - 1);
  std::nth_element(inside.begin(), place, inside.end(), std::greater<>());
  return *place;
}

/// Calls work(place, value) for each element that travelled.
template <typename Work>
void for_each_kept(const std::byte* packed, int64_t count, double share, const Work& work) {
  const int64_t size = kept(count, share);
  const std::byte* places = packed + static_cast<size_t>(size) * sizeof(float);
  for (int64_t i = 0; i < size; ++i) {
    float value;
    uint16_t place;
    std::memcpy(&value, packed + static_cast<size_t>(i) * sizeof value, sizeof value);
    std::memcpy(&place, places + static_cast<size_t>(i) * sizeof place, sizeof place);
    if (place < count) work(place, value);
  }
}

}  // namespace

int64_t kept(int64_t count, double share) {
  return std::min(count, static_cast<int64_t>(std::ceil(static_cast<double>(count) * share)));
}

size_t bytes(int64_t count, double share) {
  return static_cast<size_t>(kept(count, share)) * (sizeof(float) + sizeof(uint16_t));
}

void pack(const float* from, float* left, std::byte* to, int64_t count, double share) {
  assert(count <= kMost);
  if (count == 0) return;
  thread_local std::vector<float> values;
  values.assign(from, from + count);
  for (int64_t i = 0; left && i < count; ++i) values[static_cast<size_t>(i)] += left[i];
  const int64_t size = kept(count, share);
  const uint32_t least = threshold(values, size);
  // Those above the threshold are fewer than `size`; of those at it the first fill what is left.
  int64_t equals =
      size - std::count_if(values.begin(), values.end(), [&](float v) { return magnitude_bits(v) > least; });
  std::byte* places = to + static_cast<size_t>(size) * sizeof(float);
  for (int64_t i = 0; i < count; ++i) {
    const float value = values[static_cast<size_t>(i)];
    const uint32_t bits = magnitude_bits(value);
    const bool travels = bits > least || (bits == least && equals-- > 0);
    if (left) left[i] = travels || bits >= kInfinity ? 0 : value;
    if (!travels) continue;
    const auto place = static_cast<uint16_t>(i);
    std::memcpy(to, &value, sizeof value);
    std::memcpy(places, &place, sizeof place);
    to += sizeof value;
    places += sizeof place;
  }
}

void unpack(const std::byte* from, float* to, int64_t count, double share) {
  std::fill_n(to, count, 0.0f);
  for_each_kept(from, count, share, [&](uint16_t place, float value) { to[place] = value; });
}

void add_unpacked(const std::byte* from, float* to, int64_t count, double share) {
  for_each_kept(from, count, share, [&](uint16_t place, float value) { to[place] += value; });
}

}  // namespace robusta::top_k
