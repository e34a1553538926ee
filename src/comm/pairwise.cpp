// Pieces are of one size: a sum is padded with zeros to as many elements as its ranks divide.
#include "comm/pairwise.h"

#include <cstring>

namespace robusta {
namespace {

const std::byte* place(const void* pieces, size_t bytes, int rank) {
  return static_cast<const std::byte*>(pieces) + bytes * static_cast<size_t>(rank);
}
std::byte* place(void* pieces, size_t bytes, int rank) {
  return static_cast<std::byte*>(pieces) + bytes * static_cast<size_t>(rank);
}

/// The sum of the pieces of all ranks, which is written over the first of them.
template <typename T>
void sum_pieces(T* pieces, int64_t count, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    const T* const piece = pieces + rank * count;
    for (int64_t i = 0; i < count; ++i) pieces[i] += piece[i];
  }
}

}  // namespace

void all_to_all(Communicator& ranks, const void* out, size_t bytes, void* in) {
  const int size = ranks.size(), mine = ranks.rank();
  std::memcpy(place(in, bytes, mine), place(out, bytes, mine), bytes);
  for (int round = 1; round < size; ++round) {
    const int to = (mine + round) % size, from = (mine + size - round) % size;
    ranks.exchange(place(out, bytes, to), bytes, to, place(in, bytes, from), bytes, from);
  }
}

void sum_in_order(Communicator& ranks, void* data, int64_t count, DType type, std::vector<std::byte>& scratch) {
  const int64_t each = (count + ranks.size() - 1) / ranks.size();
  const size_t bytes = static_cast<size_t>(count) * size_of(type), piece = static_cast<size_t>(each) * size_of(type);
  const size_t padded = piece * static_cast<size_t>(ranks.size());
  scratch.resize(2 * padded);
  std::byte *const out = scratch.data(), *const in = out + padded;
  std::memcpy(out, data, bytes);
  std::memset(out + bytes, 0, padded - bytes);
  all_to_all(ranks, out, piece, in);
  dispatch(type, [&](auto t) { sum_pieces(reinterpret_cast<decltype(t)*>(in), each, ranks.size()); });
  ranks.all_gather(in, piece, out);
  std::memcpy(data, out, bytes);
}

}  // namespace robusta
