/// The pages of an LMDB's data.mdb (data format 1, that of LMDB 0.9), as input that nobody vouches for.
///
/// The file is read, not mapped: in a mapping, a page that was cut off meanwhile or that a disk cannot give kills the
/// process by a signal, and damaged offsets lead out of it. Here the first is a short read, and whoever interprets a
/// page checks its offsets. Immutable; usable by many threads at once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace robusta {

/// The tree of records, as the newer of the two meta pages describes it.
struct LmdbTree {
  uint64_t root = 0;     ///< page
  size_t depth = 0;      ///< levels of pages, the leaves' included
  uint64_t entries = 0;  ///< records
};

/// Page header: number (8 bytes), padding (2), kind (2), ends of the lower and the upper part (2 + 2).
inline constexpr size_t kLmdbPageHeader = 16;

/// The bits of a page header's kind that say what the page is.
enum LmdbPageKind : uint16_t { kLmdbBranch = 1, kLmdbLeaf = 2, kLmdbOverflow = 4, kLmdbMeta = 8, kLmdbAnyKind = 0x6f };

/// A number at an address of no particular alignment, in the byte order of the machine, which is the file's.
template <typename T>
T load_as(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline LmdbPageKind lmdb_kind(const char* page) {
  return static_cast<LmdbPageKind>(load_as<uint16_t>(page + 10) & kLmdbAnyKind);
}

class LmdbFile {
 public:
  /// Throws Error{kData} naming the folder: absent, no LMDB, cut off, or nothing in it.
  explicit LmdbFile(const std::string& folder);
  ~LmdbFile();
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  size_t page_size() const { return page_size_; }
  /// Pages in use, those of the meta data included; when the file was opened it had all of them.
  uint64_t pages() const { return pages_; }
  const LmdbTree& tree() const { return tree_; }

  /// Reads the whole range. Throws Error{kData}: the file is shorter by now, or its disk fails.
  void read(uint64_t at, char* to, size_t bytes) const;
  /// `folder_ cause`, as an Error{kData}.
  [[noreturn]] void fail(const std::string& cause, const std::string& fix) const;

 private:
  struct Meta;
  void open();
  Meta read_meta(uint64_t at) const;
  void accept(const Meta& meta, uint64_t file_bytes);

  std::string folder_;
  int fd_ = -1;
  size_t page_size_ = 0;
  uint64_t pages_ = 0;  ///< the last page of the newer meta page, and one
  LmdbTree tree_;
};

}  // namespace robusta
