/// Writes a new LMDB folder that every Caffe reads.
///
/// The folder appears under its name only when `finish` has succeeded: until then everything lies in a temporary folder
/// beside it, which the destructor removes. Used by one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct MDB_env;

namespace robusta {

class LmdbWriter {
 public:
  /// Throws Error{kOutput} when `folder` exists already or cannot be made.
  explicit LmdbWriter(const std::string& folder);
  ~LmdbWriter();
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;

  /// Adds a record; committed every 1000 or 64 MiB. Throws Error{kOutput} (disk full, key twice, key longer than LMDB
  /// takes).
  void put(std::string_view key, std::string_view value);
  /// Commits, syncs to disk and gives the folder its name. Throws Error{kOutput}.
  void finish();
  int64_t size() const { return size_; }

 private:
  void open_environment();
  void commit();
  int try_commit();
  void close();
  void require(int status) const;

  std::string folder_, temporary_;  ///< the name in the end, and until then
  MDB_env* env_ = nullptr;
  std::vector<std::pair<std::string, std::string>> pending_;  // kept until committed: a full map wants them again
  size_t pending_bytes_ = 0;                                  ///< of values
  int64_t size_ = 0;
};

}  // namespace robusta
