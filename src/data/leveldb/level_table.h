/// One table of a LevelDB: sorted entries in blocks, an index of the blocks, and a footer.
///
/// Whatever the bytes are, an entry is what they say or an Error{kData} that names the file. Immutable; usable by many
/// threads at once. The file is opened for each read: a large database has more tables than a process may open files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/leveldb/level_files.h"

namespace robusta {

/// Where a block lies in its file, without the kind and the checksum behind it.
struct LevelBlock {
  uint64_t at = 0, bytes = 0;
};

/// A key as it is stored: the user's, then the number of the write and its kind.
struct LevelKey {
  std::string_view user;
  uint64_t write = 0;    ///< later ones hide earlier ones
  bool deleted = false;  ///< the record is gone
};

class LevelTable {
 public:
  LevelTable(const std::string& folder, uint64_t number);

  /// Calls take(key, block, entry) for each entry in the order of the keys; `entry`: where it begins in its block.
  using Take = std::function<void(const LevelKey& key, const LevelBlock& block, uint64_t entry)>;
  void walk(const Take& take) const;
  /// The block, unpacked; its checksum is right.
  void read(const LevelBlock& block, std::string& out) const;
  /// The value of the entry that begins there in an unpacked block.
  std::string_view value(std::string_view block, uint64_t entry) const;

 private:
  void read(const LevelFile& file, const LevelBlock& block, std::string& out) const;
  [[noreturn]] void fail_changed() const;

  std::string folder_, name_;
};

}  // namespace robusta
