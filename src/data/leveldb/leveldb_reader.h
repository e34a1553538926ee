/// Records of a LevelDB folder, as convert_imageset -backend leveldb and Caffe's examples write it.
///
/// LevelDB does not count its records: opening one reads all of it once, and says so. From then on a record is found by
/// its number. Opened read-only, without locks (level_files.h). Whatever is in the files, a record is its bytes or an
/// Error{kData} that names the file.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "data/leveldb/level_table.h"
#include "data/reader.h"

namespace robusta {

class LevelDbReader : public RecordReader {
 public:
  /// The reader of this folder; all who ask for the same one in a process share it. Throws Error{kData}.
  static std::shared_ptr<const LevelDbReader> open(const std::string& folder);

  const std::string& source() const override { return source_; }
  int64_t size() const override { return static_cast<int64_t>(places_.size()); }
  std::string_view record(int64_t index, std::string& storage) const override;
  std::string key(int64_t index) const override;

 private:
  /// Where a record lies: an entry of a table, or a value of a log.
  struct Place {
    uint32_t table = 0;
    uint32_t key_bytes = 0;
    uint64_t key_at = 0;  // in keys_
    LevelBlock block;     // without bytes: block.at is a number in logged_
    uint64_t entry = 0;
  };
  /// A place, and which of those with its key counts.
  struct Found {
    Place place;
    uint64_t write = 0;
    bool deleted = false;
  };

  explicit LevelDbReader(const std::string& folder);
  void add(const LevelKey& key, Place place, std::vector<Found>& found);
  void walk_tables(const LevelManifest& manifest, std::vector<Found>& found);
  void walk_logs(const LevelManifest& manifest, std::vector<Found>& found);
  void take_batch(const LevelFile& file, std::string_view batch, std::vector<Found>& found);
  void keep_newest(std::vector<Found>& found);
  std::string_view key_of(const Place& place) const;

  std::string source_;
  uint64_t bytes_ = 1 << 10;  // of all files, and some
  std::vector<LevelTable> tables_;
  std::deque<std::string> logged_;  // values of logs
  std::string keys_;                // one behind the other
  std::vector<Place> places_;       // in the order of their keys
};

}  // namespace robusta
