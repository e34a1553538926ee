/// Writes a new LevelDB folder that every Caffe reads, without libleveldb.
///
/// Where keys ascend, as those of Caffe's tools do, the tables follow one another and nothing is left to be merged:
/// they go to the last level at once, and whoever opens the database has nothing to compact.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/leveldb/level_table_writer.h"
#include "data/new_folder.h"
#include "data/record_writer.h"

namespace robusta {

class LevelDbWriter : public RecordWriter {
 public:
  /// Throws Error{kOutput} when `folder` exists already or cannot be made.
  explicit LevelDbWriter(const std::string& folder);

  /// Keys should ascend: one that comes before its predecessor begins a table of its own. Of a key that is added again
  /// later the last value counts.
  void put(std::string_view key, std::string_view value) override;
  void finish() override;
  int64_t size() const override { return size_; }

 private:
  struct Placed {
    LevelTableInfo table;
    int level = 0;
  };

  void add(std::string_view key, std::string_view value);
  void close_table();
  int level_of(const LevelTableInfo& table) const;
  std::string manifest() const;
  void write_whole(const std::string& name, const std::string& content) const;
  /// Errors of `body` name the database.
  template <typename Body>
  void named(const Body& body) const;

  NewFolder folder_;
  std::optional<LevelTableWriter> table_;
  std::vector<Placed> tables_;
  std::string last_key_;
  uint64_t next_number_ = 2;  // 1 is that of the manifest
  int64_t size_ = 0;
};

}  // namespace robusta
