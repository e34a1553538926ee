// Random order without a table: a Feistel network permutes the numbers of an epoch.

#include "data/sampler.h"

#include <bit>
#include <cassert>

#include "base/philox.h"

namespace robusta {
namespace {

/// One walk through a balanced Feistel network (Luby and Rackoff 1988) over words of 2*half bits. Eight rounds, because
/// the halves of a small set are only a few bits wide.
uint64_t feistel(uint64_t word, int half, uint64_t key, uint64_t stream) {
  constexpr uint64_t kRounds = 8;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t left = word >> half, right = word & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t mixed = philox(key, stream, round << 32 | right)[0] & mask;
    const uint64_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return left << half | right;
}

}  // namespace

uint64_t permuted(uint64_t value, uint64_t count, uint64_t key, uint64_t stream) {
  assert(value < count && count <= uint64_t{1} << 62);
  const int bits = std::bit_width(count - 1);
  const int half = (bits + 1) / 2;
  // Cycle walking (Black and Rogaway 2002): words beyond the set are sent on until one falls inside it.
  do value = feistel(value, half, key, stream);
  while (value >= count);
  return value;
}

Sampler::Sampler(int64_t count, bool shuffle, uint64_t key)
    : count_(static_cast<uint64_t>(count)), key_(key), shuffle_(shuffle) {
  assert(count > 0);
}

int64_t Sampler::index(uint64_t position) const {
  const uint64_t within = position % count_;
  return static_cast<int64_t>(shuffle_ ? permuted(within, count_, key_, epoch(position)) : within);
}

}  // namespace robusta
