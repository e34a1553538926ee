/// One dimension of a reduction: an algorithm for the sum over a group of ranks.
///
/// The elements are cut into one piece per member. reduce_scatter() leaves in each member's own piece the sum over the
/// group, all_gather() hands the pieces to all; between them other dimensions reduce the piece further. Each sum is
/// made by one member, so all get the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/element_range.h"
#include "tensor/dtype.h"

namespace robusta {

/// Elements of one type that lie one after the other.
struct Span {
  std::byte* data = nullptr;
  int64_t count = 0;  ///< elements
  DType type = DType::kF32;
  int64_t exact = 0;  ///< the last of them, which always travel as they are

  size_t bytes() const { return static_cast<size_t>(count) * size_of(type); }
  Span part(int64_t begin, int64_t end) const {
    const int64_t first_exact = std::max(count - exact, begin);
    return {data + static_cast<size_t>(begin) * size_of(type), end - begin, type,
            std::max<int64_t>(end - first_exact, 0)};
  }
  Span piece(int index, int pieces) const {
    const ElementRange range = piece_range(count, index, pieces);
    return part(range.begin, range.end);
  }
  /// Piece `index` of `pieces`. They begin at multiples of a cache line of f32, lest two ranks write the same one.
  static ElementRange piece_range(int64_t count, int index, int pieces) {
    const auto begin = [&](int64_t i) {
      const int64_t place = (count * i / pieces + kGrain - 1) / kGrain * kGrain;
      return place < count ? place : count;
    };
    return {begin(index), begin(index + 1)};
  }

  static constexpr int64_t kGrain = 16;  ///< elements: as f32 a cache line, which two members then never share
};

/// The group of a dimension: ranks of the world and this rank's place among them.
struct Group {
  std::vector<int> ranks;
  int position = 0;  ///< index of this rank in `ranks`

  int size() const { return static_cast<int>(ranks.size()); }
  /// The world's rank of a member.
  int rank_of(int member) const { return ranks[static_cast<size_t>(member)]; }
  /// That of the member `distance` places further on, around the ring.
  int neighbour(int distance) const { return rank_of(((position + distance) % size() + size()) % size()); }
};

class Stage {
 public:
  virtual ~Stage() = default;
  /// "ring"
  virtual std::string name() const = 0;
  /// Leaves the sum in this member's piece; what the others hold is undefined.
  virtual void reduce_scatter(const Span& span) = 0;
  virtual void all_gather(const Span& span) = 0;
  virtual void all_reduce(const Span& span) {
    reduce_scatter(span);
    all_gather(span);
  }
  /// Returns when no other member reads or writes this one's memory on behalf of what was asked before.
  virtual void meet() {}
  /// That the span takes when it travels.
  virtual size_t wire_bytes(const Span& span) const { return span.bytes(); }
  /// Where a stage that rounds what it sends keeps what is left of the span's elements for the next time; null: it
  /// keeps nothing.
  virtual float* left_of(const Span& span) { return nullptr; }
};

}  // namespace robusta
