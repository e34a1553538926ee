/// Some elements of an array that lie one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

namespace robusta {

struct ElementRange {
  int64_t begin = 0, end = 0;  ///< the first of them, and behind the last

  int64_t count() const { return end - begin; }
  bool empty() const { return begin >= end; }
  /// Those that are in both; counted from the beginning of `other`, whose elements it then indexes.
  ElementRange within(const ElementRange& other) const {
    const int64_t first = std::clamp(begin, other.begin, other.end);
    return {first - other.begin, std::max(std::clamp(end, other.begin, other.end), first) - other.begin};
  }
  bool operator==(const ElementRange&) const = default;
};

}  // namespace robusta
