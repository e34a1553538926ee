// The usual value is the most frequent one, so that one strange host is named rather than all the others.
#include "solver/ranks/minority.h"

#include <map>

#include "base/str.h"

namespace robusta {

std::string minority(const std::vector<uint64_t>& values) {
  constexpr int kMostNames = 8;
  std::map<uint64_t, int> counts;
  for (const uint64_t value : values) ++counts[value];
  uint64_t usual = values.empty() ? 0 : values[0];
  for (const uint64_t value : values) {
    if (counts[value] > counts[usual]) usual = value;
  }
  std::string names;
  int odd = 0;
  for (size_t rank = 0; rank < values.size(); ++rank) {
    if (values[rank] == usual) continue;
    if (odd < kMostNames) names += str(odd > 0 ? ", " : "", rank);
    ++odd;
  }
  if (odd > kMostNames) names += str(" and ", odd - kMostNames, " more");
  return (odd == 1 ? "rank " : "ranks ") + names;
}

}  // namespace robusta
