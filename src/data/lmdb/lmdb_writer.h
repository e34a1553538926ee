/// Writes a new LMDB folder that every Caffe reads.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/new_folder.h"
#include "data/record_writer.h"

struct MDB_env;

namespace robusta {

class LmdbWriter : public RecordWriter {
 public:
  /// Throws Error{kOutput} when `folder` exists already or cannot be made.
  explicit LmdbWriter(const std::string& folder);
  ~LmdbWriter() override { close(); }

  /// Committed every 1000 or 64 MiB. Keys come in any order, none twice; they have 1 to 511 bytes.
  void put(std::string_view key, std::string_view value) override;
  void finish() override;
  int64_t size() const override { return size_; }

 private:
  void open_environment();
  void commit();
  int try_commit();
  void close();
  void require(int status) const;

  NewFolder folder_;
  MDB_env* env_ = nullptr;
  std::vector<std::pair<std::string, std::string>> pending_;  // kept until committed: a full map wants them again
  size_t pending_bytes_ = 0;                                  ///< of values
  int64_t size_ = 0;
};

}  // namespace robusta
