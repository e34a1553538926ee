// Rank numbers go round: what lies before rank 0 is the last one.

#include "comm/sockets/collectives.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace robusta {
namespace {

constexpr size_t kShortBytes = 64 << 10;  // up to here the number of steps counts, beyond it the bytes

int wrapped(int rank, int size) { return (rank % size + size) % size; }

template <typename T>
void add(T* to, const T* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// a + b is b + a to the bit, so both of a pair get the same. Ranks beyond the largest power of two lend their numbers
/// to a partner before, and get the sums after.
template <typename T>
void double_recursively(Communicator& ranks, T* data, int64_t count) {
  const int size = ranks.size(), rank = ranks.rank();
  const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(size))), beyond = size - paired;
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  std::vector<T> other(static_cast<size_t>(count));
  const auto swap_with = [&](int peer) {
    ranks.exchange(data, bytes, peer, other.data(), bytes, peer);
    add(data, other.data(), count);
  };
  if (rank >= paired) {
    ranks.exchange(data, bytes, rank - paired, nullptr, 0, -1);
    ranks.exchange(nullptr, 0, -1, data, bytes, rank - paired);
    return;
  }
  const bool has_guest = rank < beyond;
  if (has_guest) {
    ranks.exchange(nullptr, 0, -1, other.data(), bytes, rank + paired);
    add(data, other.data(), count);
  }
  for (int distance = 1; distance < paired; distance *= 2) swap_with(rank ^ distance);
  if (has_guest) ranks.exchange(data, bytes, rank + paired, nullptr, 0, -1);
}

/// Part i of the numbers goes round once to be summed, ending on rank i - 1, and once more to be known to all.
template <typename T>
void go_round(Communicator& ranks, T* data, int64_t count) {
  const int size = ranks.size(), rank = ranks.rank(), next = wrapped(rank + 1, size), before = wrapped(rank - 1, size);
  const auto begin = [&](int part) { return count * part / size; };
  const auto length = [&](int part) { return begin(part + 1) - begin(part); };
  const auto bytes = [&](int part) { return static_cast<size_t>(length(part)) * sizeof(T); };
  std::vector<T> other(static_cast<size_t>(count / size + 1));
  for (int step = 0; step < size - 1; ++step) {
    const int out = wrapped(rank - step, size), in = wrapped(out - 1, size);
    ranks.exchange(data + begin(out), bytes(out), next, other.data(), bytes(in), before);
    add(data + begin(in), other.data(), length(in));
  }
  for (int step = 0; step < size - 1; ++step) {
    const int out = wrapped(rank + 1 - step, size), in = wrapped(out - 1, size);
    ranks.exchange(data + begin(out), bytes(out), next, data + begin(in), bytes(in), before);
  }
}

}  // namespace

void exchange_barrier(Communicator& ranks) {
  const int size = ranks.size(), rank = ranks.rank();
  for (int distance = 1; distance < size; distance *= 2) {
    char out = 0, in = 0;
    ranks.exchange(&out, 1, wrapped(rank + distance, size), &in, 1, wrapped(rank - distance, size));
  }
}

void exchange_broadcast(Communicator& ranks, void* data, size_t bytes, int root) {
  const int size = ranks.size(), place = wrapped(ranks.rank() - root, size);
  const auto rank_of = [&](int at) { return wrapped(at + root, size); };
  // The parent's place lacks the lowest bit of the child's.
  int bit = 1;
  for (; bit < size; bit *= 2) {
    if (!(place & bit)) continue;
    ranks.exchange(nullptr, 0, -1, data, bytes, rank_of(place - bit));
    break;
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < size) ranks.exchange(data, bytes, rank_of(place + bit), nullptr, 0, -1);
  }
}

void exchange_all_gather(Communicator& ranks, const void* mine, size_t bytes, void* all) {
  const int size = ranks.size(), rank = ranks.rank();
  // Block i is that of rank + i, and is turned to its place at the end.
  std::vector<std::byte> blocks(bytes * static_cast<size_t>(size));
  if (bytes > 0) std::memcpy(blocks.data(), mine, bytes);
  for (int have = 1; have < size; have *= 2) {
    const size_t part = bytes * static_cast<size_t>(std::min(have, size - have));
    ranks.exchange(blocks.data(), part, wrapped(rank - have, size), blocks.data() + bytes * static_cast<size_t>(have),
                   part, wrapped(rank + have, size));
  }
  const size_t first = bytes * static_cast<size_t>(size - rank);  // bytes of ranks from this one to the last
  if (blocks.empty()) return;
  std::memcpy(static_cast<std::byte*>(all) + bytes * static_cast<size_t>(rank), blocks.data(), first);
  std::memcpy(all, blocks.data() + first, blocks.size() - first);
}

void exchange_all_reduce(Communicator& ranks, void* data, int64_t count, DType type) {
  const auto sum = [&]<typename T>(T* numbers) {
    if (static_cast<size_t>(count) * sizeof(T) <= kShortBytes) {
      double_recursively(ranks, numbers, count);
    } else {
      go_round(ranks, numbers, count);
    }
  };
  if (type == DType::kF64) {
    sum(static_cast<double*>(data));
  } else {
    sum(static_cast<float*>(data));
  }
}

}  // namespace robusta
