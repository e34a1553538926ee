/// Things in a row, cut into parts for threads or into pieces for caches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace robusta::amx {

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// The one that is `index`-th of `parts` about equal ones.
constexpr Range part_of(int64_t count, int64_t parts, int64_t index) {
  return {count * index / parts, count * (index + 1) / parts};
}

/// body(range) for 0..count in pieces of `length`.
template <typename Body>
void in_pieces(int64_t count, int64_t length, const Body& body) {
  for (int64_t begin = 0; begin < count; begin += length) body(Range{begin, std::min(begin + length, count)});
}

}  // namespace robusta::amx
