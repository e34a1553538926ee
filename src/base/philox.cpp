// Philox4x32-10 as in Salmon et al. 2011; the constants are those of its published test vectors.

#include "base/philox.h"

#include <cmath>
#include <numbers>

namespace robusta {
namespace {

double in_unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

/// Two normals of two uniforms (Box and Muller 1958).
std::array<double, 2> box_muller(double first, double second) {
  const double radius = std::sqrt(-2 * std::log(1 - first));
  const double angle = 2 * std::numbers::pi * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

uint64_t random_key(uint64_t seed, std::string_view layer, std::string_view purpose) {
  uint64_t h = 0xcbf29ce484222325u;
  auto eat = [&h](std::string_view text) {
    for (unsigned char c : text) h = (h ^ c) * 0x100000001b3u;
    h = (h ^ 0xffu) * 0x100000001b3u;  // an end mark keeps ("ab","c") and ("a","bc") apart
  };
  eat(layer);
  eat(purpose);
  h ^= seed + 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

uint32_t PhiloxStream::next32() {
  if (used_ == 4) {
    block_ = philox(key_, stream_, counter_++);
    used_ = 0;
  }
  return block_[used_++];
}

uint64_t PhiloxStream::next64() {
  const uint64_t high = next32();
  return high << 32 | next32();
}

double PhiloxStream::uniform() { return in_unit(next64()); }

double PhiloxStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double first = uniform(), second = uniform();
  const Pair pair = box_muller(first, second);
  spare_ = pair[1];
  has_spare_ = true;
  return pair[0];
}

PhiloxStream::Pair PhiloxStream::uniform_pair(const PhiloxBlock& block) {
  return {in_unit(uint64_t{block[0]} << 32 | block[1]), in_unit(uint64_t{block[2]} << 32 | block[3])};
}

PhiloxStream::Pair PhiloxStream::normal_pair(const PhiloxBlock& block) {
  const auto [first, second] = uniform_pair(block);
  return box_muller(first, second);
}

uint64_t PhiloxStream::below(uint64_t n) {
  using Wide = unsigned __int128;
  Wide product = Wide{next64()} * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t threshold = (0 - n) % n;
    while (static_cast<uint64_t>(product) < threshold) product = Wide{next64()} * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

}  // namespace robusta
