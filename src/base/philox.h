/// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as
/// 1, 2, 3", SC'11).
///
/// A draw is a pure function of (key, counter): no state is carried, so a result does not depend on the number of
/// ranks or threads, nor on whether the run was resumed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/parallel.h"

namespace robusta {

using PhiloxBlock = std::array<uint32_t, 4>;

/// Four independent uniform 32-bit words for this counter under this key. constexpr: GPU kernels may call it, too.
constexpr PhiloxBlock philox(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  PhiloxBlock c{static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// Uniform in [0, 1), 24 bits: exact in float.
inline float uniform01(uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24f; }

/// A key for one purpose of one layer: 64-bit FNV-1a over the words, mixed with the seed (splitmix64 finaliser).
uint64_t random_key(uint64_t seed, std::string_view layer, std::string_view purpose);

/// Sequential draws under one key: what fillers and permutations want.
class PhiloxStream {
 public:
  explicit PhiloxStream(uint64_t key, uint64_t stream = 0) : key_(key), stream_(stream) {}
  uint32_t next32();
  uint64_t next64();
  /// Uniform in [0, 1) with 53 bits.
  double uniform();
  /// Standard normal (Box and Muller 1958).
  double normal();
  /// put(i, draw) for the next n of uniform(), or of normal(), in the order of no thread: a block of Philox gives two
  /// of either, and any block can be computed by itself.
  template <typename Put>
  void uniforms(int64_t n, const Put& put) {
    draw_pairs(
        n, put, [this] { return uniform(); }, uniform_pair);
  }
  template <typename Put>
  void normals(int64_t n, const Put& put) {
    draw_pairs(
        n, put, [this] { return normal(); }, normal_pair);
  }
  /// Uniform in 0..n-1 without bias (Lemire 2019). REQUIRES: n > 0.
  uint64_t below(uint64_t n);

 private:
  using Pair = std::array<double, 2>;
  static constexpr int64_t kGrain = 4096;  ///< pairs that are worth a thread

  static Pair uniform_pair(const PhiloxBlock& block);
  static Pair normal_pair(const PhiloxBlock& block);

  /// One after the other until a block begins, and what is left after the last whole one.
  template <typename Put, typename Next>
  void draw_pairs(int64_t n, const Put& put, const Next& next, Pair (*pair_of)(const PhiloxBlock&)) {
    int64_t i = 0;
    for (; i < n && (used_ != 4 || has_spare_); ++i) put(i, next());
    const int64_t pairs = (n - i) / 2;
    parallel_for(pairs, kGrain, [&](int64_t pair) {
      const auto [first, second] = pair_of(philox(key_, stream_, counter_ + static_cast<uint64_t>(pair)));
      put(i + 2 * pair, first);
      put(i + 2 * pair + 1, second);
    });
    counter_ += static_cast<uint64_t>(pairs);
    for (i += 2 * pairs; i < n; ++i) put(i, next());
  }

  uint64_t key_, stream_, counter_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;      ///< words of `block_` that were handed out
  double spare_ = 0;  ///< Box and Muller give two numbers at once: the second
  bool has_spare_ = false;
};

}  // namespace robusta
