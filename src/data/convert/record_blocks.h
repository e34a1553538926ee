/// Items made into records of a database: converted side by side, written in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/str.h"
#include "data/convert/files.h"
#include "data/error_of.h"
#include "data/lmdb/lmdb_writer.h"
#include "data/pixels.h"

namespace robusta {

/// What became of one item.
struct ConvertedItem {
  std::string record;  ///< empty: failed
  Extent extent;
  std::string failure;  ///< why, where `record` is empty
};

struct ConvertedSet {
  int64_t written = 0, skipped = 0;
};

/// Fisher and Yates; `program` is a key of what is drawn.
template <typename Item>
void shuffle_items(std::vector<Item>& items, uint64_t seed, const char* program) {
  PhiloxStream random(random_key(seed, program, "shuffle"));
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

inline void require_size_of_first(const Extent& extent, const std::string& path, Extent& first) {
  if (first.count() == 0) first = extent;
  if (extent == first) return;
  throw Error(ErrorKind::kData, str(path, " is ", extent.str(), ", the first image is ", first.str()),
              "give --resize_height and --resize_width, or leave --check_size out");
}

/// Writes convert(item) of each item that has a `path` to the new LMDB `folder`, under "%08d_" and the path. An item
/// that fails is logged, skipped and leaves a gap in the numbers. Uses all threads of OpenMP; convert() must not throw;
/// check(), after each block, may. Throws Error{kOutput}; Error{kData} where sizes differ under `check_size`. Where
/// nothing was written there is no folder.
template <typename Item, typename Convert, typename Check>
ConvertedSet write_in_blocks(const std::vector<Item>& items, const std::string& folder, const std::string& root,
                             bool check_size, const Convert& convert, const Check& check) {
  constexpr size_t kBlock = 128;
  LmdbWriter writer(folder);
  ConvertedSet result;
  Extent first;
  for (size_t start = 0; start < items.size(); start += kBlock) {
    std::vector<ConvertedItem> block(std::min(kBlock, items.size() - start));
    parallel_for(static_cast<int64_t>(block.size()), 1,
                 [&](int64_t i) { block[static_cast<size_t>(i)] = convert(items[start + static_cast<size_t>(i)]); });
    check();
    for (size_t i = 0; i < block.size(); ++i) {
      const std::string& path = items[start + i].path;
      if (block[i].record.empty()) {
        LOG_ERROR << "skipped " << root << path << ": " << block[i].failure;
        ++result.skipped;
        continue;
      }
      if (check_size) require_size_of_first(block[i].extent, path, first);
      writer.put(padded(static_cast<int64_t>(start + i), 8) + "_" + path, block[i].record);
      report_progress(++result.written);
    }
  }
  if (result.written > 0) writer.finish();
  return result;
}

/// The error where none of so many images could be read.
[[noreturn]] inline void refuse_unreadable(size_t count, const std::string& list, const std::string& root) {
  throw Error(ErrorKind::kData, str("none of the ", count, " images of ", list, " could be read"),
              "the root folder " + root + " is put before each path as it is: does it need a / at its end?");
}

}  // namespace robusta
