/// Writes one table of a LevelDB (level_table.h reads them), with blocks that are not compressed: every libleveldb
/// reads these, also one that was built without Snappy, and pixels hardly become smaller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/leveldb/level_output.h"

namespace robusta {

/// What a manifest says of a table; keys as they are stored, with the number of the write behind the user's.
struct LevelTableInfo {
  uint64_t number = 0, bytes = 0;
  std::string smallest, largest;
};

/// Entries of a block: a key is what it does not share with the key before it.
class LevelBlockBuilder {
 public:
  void add(std::string_view key, std::string_view value);
  bool empty() const { return entries_.empty(); }
  /// Bytes of the entries so far.
  size_t bytes() const { return entries_.size(); }
  /// The block, whole; the builder is empty again.
  std::string take();

 private:
  std::string entries_, restarts_, last_key_;
  uint32_t restart_count_ = 0, since_restart_ = 0;
};

class LevelTableWriter {
 public:
  /// A new file of this number. Throws Error{kOutput}, as the rest does.
  LevelTableWriter(const std::string& folder, uint64_t number);

  /// `user` comes behind all keys before it; `write` is the number of this write.
  void put(std::string_view user, uint64_t write, std::string_view value);
  uint64_t bytes() const { return output_.size() + block_.bytes(); }
  /// The table is on the disk. REQUIRES: there is an entry.
  LevelTableInfo finish();

 private:
  void write_block();
  /// Appends the block and what stands behind it. Returns its place as an index has it.
  std::string append(const std::string& block);

  LevelOutput output_;
  LevelTableInfo info_;
  LevelBlockBuilder block_, index_;
};

}  // namespace robusta
