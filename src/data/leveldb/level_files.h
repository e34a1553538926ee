/// The files of a LevelDB folder, as input that nobody vouches for: which tables and logs make up the database, and the
/// records of a log.
///
/// Nothing is written, locked or mapped, so that many processes read one database at once, from read-only and network
/// file systems too. The price: nobody may change it meanwhile. What is wrong is an Error{kData} that names the folder
/// and the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_file.h"

namespace robusta {

/// One file, read by pread from any thread.
class LevelFile {
 public:
  LevelFile(const std::string& folder, const std::string& name);
  const std::string& path() const { return path_; }
  uint64_t size() const { return static_cast<uint64_t>(input_.info.st_size); }
  /// Exactly these bytes.
  void read(uint64_t at, uint64_t bytes, std::string& out) const;
  /// Throws Error{kData} at the path.
  [[noreturn]] void fail(const std::string& cause) const;

 private:
  std::string path_;
  InputFile input_;
};

/// What the newest manifest says.
struct LevelManifest {
  std::vector<uint64_t> tables;  ///< numbers of files, whatever their level
  uint64_t first_log = 0;        ///< logs from this number on hold what is in no table yet
  uint64_t other_log = 0;        ///< and this one; 0: none
};

LevelManifest read_level_manifest(const std::string& folder);

/// Calls take(record) for each record of a log. One that is cut off at the end, as a crash leaves it, ends the log.
void walk_level_log(const LevelFile& file, const std::function<void(std::string_view record)>& take);

}  // namespace robusta
