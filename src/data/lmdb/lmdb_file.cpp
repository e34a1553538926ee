// Opening data.mdb: the meta pages, of which LMDB writes each commit's into the older one, and plain reading.

#include "data/lmdb/lmdb_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMagic = 0xBEEFC0DE, kVersion = 1;  // MDB_MAGIC and MDB_DATA_VERSION of LMDB's mdb.c
constexpr size_t kLeastPage = 512, kLargestPage = 65536;
constexpr size_t kMetaBytes = 152, kDeepest = 32;  // LMDB's own limit of levels
constexpr size_t kLeastNodeBytes = 10;  // header of a record in a leaf page and its place in the page's table
constexpr char kHowToMake[] =
    "make it with convert_imageset, convert_mnist_data or convert_cifar_data, or correct the path";
constexpr char kAnew[] = "copy it again, or make it anew";

}  // namespace

/// What a meta page says, in the order of the file: after the page header come magic, version, address and size of the
/// map, the tree of free pages, the tree of records, the last page, and the number of the transaction.
struct LmdbFile::Meta {
  uint32_t magic, version, page_size;
  uint16_t flags, depth;
  uint64_t leaf_pages, entries, root, last_page, transaction;
};

LmdbFile::LmdbFile(const std::string& folder) : folder_(folder) {
  open();
  try {
    struct ::stat file = {};
    if (::fstat(fd_, &file) != 0 || !S_ISREG(file.st_mode)) fail("cannot be read: data.mdb is no regular file", kAnew);
    const auto bytes = static_cast<uint64_t>(file.st_size);
    const Meta first = read_meta(0), second = read_meta(first.page_size);
    accept(first.transaction < second.transaction ? second : first, bytes);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

LmdbFile::~LmdbFile() { ::close(fd_); }

void LmdbFile::fail(const std::string& cause, const std::string& fix) const {
  throw Error(ErrorKind::kData, "the LMDB " + folder_ + " " + cause, fix);
}

void LmdbFile::open() {
  std::error_code error;
  const fs::file_status folder = fs::status(folder_, error);
  if (folder.type() == fs::file_type::not_found) fail("does not exist", kHowToMake);
  if (error) fail(str("cannot be read: ", error.message()), "see to the permissions of the folders above it");
  if (!fs::is_directory(folder)) fail("is a file, not a folder", "give the folder that holds data.mdb");
  // O_NONBLOCK: of a FIFO in its place nobody waits for the writer.
  fd_ = ::open((fs::path(folder_) / "data.mdb").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ >= 0) return;
  if (errno == ENOENT) fail("holds no data.mdb", kHowToMake);
  if (errno == EACCES || errno == EPERM) fail("cannot be read: permission denied", "ask for read permission");
  fail(str("cannot be read: ", std::strerror(errno)), "");
}

void LmdbFile::read(uint64_t at, char* to, size_t bytes) const {
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_, to, bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(str("cannot be read at byte ", at, " of data.mdb: ", std::strerror(errno)), "see to the disk");
    if (got == 0) fail(str("is cut off: data.mdb ends at byte ", at), kAnew);
    at += static_cast<uint64_t>(got);
    to += got;
    bytes -= static_cast<size_t>(got);
  }
}

LmdbFile::Meta LmdbFile::read_meta(uint64_t at) const {
  char page[kMetaBytes] = {};
  ssize_t got;
  do got = ::pread(fd_, page, sizeof page, static_cast<off_t>(at));
  while (got < 0 && errno == EINTR);
  const Meta meta{
      .magic = load_as<uint32_t>(page + 16),
      .version = load_as<uint32_t>(page + 20),
      .page_size = load_as<uint32_t>(page + 40),
      .flags = load_as<uint16_t>(page + 92),
      .depth = load_as<uint16_t>(page + 94),
      .leaf_pages = load_as<uint64_t>(page + 104),
      .entries = load_as<uint64_t>(page + 120),
      .root = load_as<uint64_t>(page + 128),
      .last_page = load_as<uint64_t>(page + 136),
      .transaction = load_as<uint64_t>(page + 144),
  };
  const bool right = got == sizeof page && meta.magic == kMagic && meta.version == kVersion &&
                     lmdb_kind(page) == kLmdbMeta && std::has_single_bit(meta.page_size) &&
                     meta.page_size >= kLeastPage && meta.page_size <= kLargestPage;
  if (!right) fail("cannot be read: data.mdb is no LMDB file, or was cut off", kAnew);
  return meta;
}

void LmdbFile::accept(const Meta& meta, uint64_t file_bytes) {
  page_size_ = meta.page_size;
  const uint64_t whole_pages = file_bytes / page_size_;
  // The map of a database is often larger than what is used of it, and the file may be sparse: only used pages have to
  // be there.
  if (meta.last_page >= whole_pages) {
    fail(str("is cut off: data.mdb has ", whole_pages, " of ", meta.last_page + 1, " pages"),
         "copy it again (was the disk full?), or make it anew");
  }
  pages_ = meta.last_page + 1;
  if (meta.flags != 0) fail("is no set of records: its keys have an order of their own, or several values", kHowToMake);
  if (meta.entries == 0) fail("is empty", "was its writer stopped before the first record? Make it anew");
  const uint64_t leaves = std::min(meta.leaf_pages, pages_);
  if (meta.entries > leaves * (page_size_ / kLeastNodeBytes)) fail("is damaged: more records than fit", kAnew);
  if (meta.depth == 0 || meta.depth > kDeepest) fail(str("is damaged: a tree of ", meta.depth, " levels"), kAnew);
  tree_ = {meta.root, meta.depth, meta.entries};
}

}  // namespace robusta
