/// Records of an LMDB folder, as convert_imageset and the other tools write it.
///
/// Opened read-only, without locks and without writing into the folder, so that many processes read it at once, from
/// read-only and network file systems too. The price: nobody may change the database meanwhile. Keys are found while
/// the records are walked in order, so that sequential reading starts at once; a value is a view into the map.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "data/reader.h"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace robusta {

class LmdbReader : public RecordReader {
 public:
  /// The reader of this folder; all who ask for the same one in a process share it, because LMDB must not be opened
  /// twice. Throws Error{kData} when the folder is absent, no LMDB, cut off or empty.
  static std::shared_ptr<const LmdbReader> open(const std::string& folder);
  ~LmdbReader() override;

  const std::string& source() const override { return source_; }
  int64_t size() const override { return size_; }
  std::string_view record(int64_t index, std::string& storage) const override;
  std::string key(int64_t index) const override;

 private:
  struct Entry {
    const char* key;
    const char* value;
    uint32_t key_size, value_size;
  };

  explicit LmdbReader(const std::string& folder);
  void open_environment();
  void check_length() const;
  const Entry& entry(int64_t index) const;
  void walk_to(int64_t index) const;
  void close();

  std::string source_;
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;  // keeps the pages where they are
  int64_t size_ = 0;

  mutable std::mutex mutex_;  // guards the cursor and entries beyond known_
  mutable MDB_cursor* cursor_ = nullptr;
  std::unique_ptr<Entry[]> entries_;
  mutable std::atomic<int64_t> known_ = 0;  // entries found so far; those never change again
};

}  // namespace robusta
