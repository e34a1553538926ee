/// Lists of images made into records of a database: converted side by side, written in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "data/pixels.h"
#include "robusta/error.h"

namespace robusta {

/// What became of one item.
struct ConvertedItem {
  std::string record;  ///< empty: failed
  Extent extent;
  std::string failure;         ///< why, where `record` is empty
  std::optional<Error> fatal;  ///< the whole set is refused
};

struct ConvertedSet {
  int64_t written = 0, skipped = 0;
};

/// Where records go, and what is asked of them.
struct RecordPlace {
  std::string backend, folder;
  std::string root;         ///< what stands before each path
  bool check_size = false;  ///< all images must have the size of the first
};

/// Fisher and Yates; `program` is a key of what is drawn.
template <typename Item>
void shuffle_items(std::vector<Item>& items, uint64_t seed, const char* program) {
  PhiloxStream random(random_key(seed, program, "shuffle"));
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// Writes convert(i), for each of these paths, to a new database under "%08d_" and the path. An item that fails is
/// logged, skipped and leaves a gap in the numbers; the first of the list that is fatal is thrown. As many threads as
/// OpenMP has call convert(), which must not throw; the database does not depend on their number. Throws
/// Error{kOutput}; Error{kData} where sizes differ under `check_size`. Where nothing was written there is no database.
ConvertedSet write_image_records(const std::vector<std::string>& paths, const RecordPlace& place,
                                 const std::function<ConvertedItem(size_t index)>& convert);

/// The error where none of so many images could be read.
[[noreturn]] void refuse_unreadable(size_t count, const std::string& list, const std::string& root);

}  // namespace robusta
