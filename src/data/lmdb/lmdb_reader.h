/// Records of an LMDB folder, as convert_imageset and the other tools write it.
///
/// Opened read-only, without locks and without writing into the folder, so that many processes read it at once, from
/// read-only and network file systems too. The price: nobody may change the database meanwhile. Keys are found while
/// the records are walked in order, so that sequential reading starts at once. Whatever is in the file, or becomes of
/// it, a record is its bytes or an Error{kData} that names database and record (lmdb_file.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "data/lmdb/lmdb_file.h"
#include "data/lmdb/lmdb_walk.h"
#include "data/reader.h"
#include "robusta/error.h"

namespace robusta {

class LmdbReader : public RecordReader {
 public:
  /// The reader of this folder; all who ask for the same one in a process share it, and what it has found of the keys.
  /// Throws Error{kData} when the folder is absent, no LMDB, cut off or empty.
  static std::shared_ptr<const LmdbReader> open(const std::string& folder);

  const std::string& source() const override { return source_; }
  int64_t size() const override { return static_cast<int64_t>(file_.tree().entries); }
  std::string_view record(int64_t index, std::string& storage) const override;
  std::string key(int64_t index) const override;

 private:
  explicit LmdbReader(const std::string& folder);
  const LmdbRecord& place(int64_t index) const;
  void walk_to(int64_t index) const;

  std::string source_;
  LmdbFile file_;

  mutable std::mutex mutex_;             // guards the walk and places beyond known_
  mutable LmdbWalk walk_;                ///< stands behind place known_ - 1
  mutable std::optional<Error> broken_;  // what ended the walk
  std::unique_ptr<LmdbRecord[]> places_;
  mutable std::atomic<int64_t> known_ = 0;  // places found so far; those never change again
};

}  // namespace robusta
