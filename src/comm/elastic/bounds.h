/// How many ranks an elastic job may have (-elastic MIN:MAX).
#pragma once

#include <algorithm>
#include <cstdint>

namespace robusta {

struct ElasticBounds {
  int fewest = 0, most = 0;  ///< most 0: the job is not elastic, and ends with its first rank

  bool asked() const { return most > 0; }
};

/// How many of `present` ranks train: as many as there may be and as can divide `batch` evenly (0: any number can). The
/// others stand by. 0: there are too few.
inline int seats(int present, const ElasticBounds& bounds, int64_t batch) {
  int count = std::min(present, bounds.most);
  while (count > 0 && batch > 0 && batch % count != 0) --count;
  return count >= bounds.fewest ? count : 0;
}

}  // namespace robusta
