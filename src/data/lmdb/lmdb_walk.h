/// The records of an LMDB one after the other, in the order of their keys: a walk over the leaves of its B+ tree.
///
/// Every offset and page number is checked before it is followed; a record that this returns lies within the file as it
/// was when it was opened. All leaves lie at one depth and none is empty, so that a damaged tree, whatever circles it
/// has, cannot keep the walk from coming to a next record or to an error. For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/lmdb/lmdb_file.h"

namespace robusta {

/// Where a record lies in the file. Left unset when made: of millions, memory is taken as the walk goes on.
struct LmdbRecord {
  uint64_t key_at, value_at;  ///< bytes from the beginning of data.mdb
  uint32_t value_size;
  uint16_t key_size;  ///< LMDB's own limit is 511
  bool overflow;      ///< the value has pages of its own; `value_at` is their header, which comes first
};

class LmdbWalk {
 public:
  /// `file` outlives the walk.
  explicit LmdbWalk(const LmdbFile& file);

  /// The next record; false after the last. Throws Error{kData}: what was found is no page of a tree, or no record;
  /// after that the walk must not go on.
  bool next(LmdbRecord& record);

 private:
  /// A page on the way from the root.
  struct Level {
    uint64_t page = 0;
    std::vector<char> bytes;
    size_t count = 0, next = 0;  ///< nodes, and those of them that were visited
  };
  void enter(size_t level, uint64_t page);
  bool to_next_leaf();
  /// Where node `index` begins in its page. The node's header and key lie within the page.
  size_t node_of(const Level& level, size_t index) const;
  uint64_t child_of(const Level& level, size_t index) const;
  LmdbRecord record_of(const Level& leaf, size_t index) const;
  [[noreturn]] void damaged(const Level& level, const std::string& how) const;

  const LmdbFile& file_;
  std::vector<Level> levels_;  // from the root to a leaf
  bool begun_ = false;
};

}  // namespace robusta
