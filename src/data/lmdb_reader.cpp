#include "data/lmdb_reader.h"

#include <lmdb.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLeastNodeBytes = 10;  // header of a record in a leaf page and its place in the page's table
constexpr char kHowToMake[] =
    "make it with convert_imageset, convert_mnist_data or convert_cifar_data, or correct the path";

[[noreturn]] void fail(const std::string& source, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kData, "the LMDB " + source + " " + cause, fix);
}

void require(int status, const std::string& source) {
  if (status == MDB_SUCCESS) return;
  if (status == MDB_INVALID || status == MDB_VERSION_MISMATCH) {
    fail(source, "cannot be read: data.mdb is no LMDB file, or was cut off", "copy it again, or make it anew");
  }
  if (status == EACCES || status == EPERM) fail(source, "cannot be read: permission denied", "ask for read permission");
  fail(source, str("is damaged: ", mdb_strerror(status)), "copy it again, or make it anew");
}

void require_folder(const std::string& source) {
  std::error_code error;
  const fs::file_status folder = fs::status(source, error);
  if (!fs::exists(folder)) fail(source, "does not exist", kHowToMake);
  if (!fs::is_directory(folder)) fail(source, "is a file, not a folder", "give the folder that holds data.mdb");
  const fs::file_status data = fs::status(fs::path(source) / "data.mdb", error);
  if (error && error != std::errc::no_such_file_or_directory) fail(source, "cannot be read: " + error.message(), "");
  if (!fs::exists(data)) fail(source, "holds no data.mdb", kHowToMake);
}

}  // namespace

std::shared_ptr<const LmdbReader> LmdbReader::open(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const LmdbReader>> readers;
  require_folder(folder);
  const std::string canonical = fs::canonical(folder).string();
  std::lock_guard lock(mutex);
  std::weak_ptr<const LmdbReader>& known = readers[canonical];
  if (auto reader = known.lock()) return reader;
  std::shared_ptr<const LmdbReader> reader(new LmdbReader(folder));
  known = reader;
  return reader;
}

LmdbReader::LmdbReader(const std::string& folder) : source_(folder) {
  try {
    open_environment();
  } catch (...) {
    close();
    throw;
  }
}

LmdbReader::~LmdbReader() { close(); }

void LmdbReader::open_environment() {
  require(mdb_env_create(&env_), source_);
  require(mdb_env_open(env_, source_.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0664), source_);
  check_length();
  require(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn_), source_);
  MDB_dbi main_database;
  require(mdb_dbi_open(txn_, nullptr, 0, &main_database), source_);
  MDB_stat stat;
  require(mdb_stat(txn_, main_database, &stat), source_);
  size_ = static_cast<int64_t>(stat.ms_entries);
  if (size_ == 0) fail(source_, "is empty", "was its writer stopped before the first record? Make it anew");
  const size_t most = (stat.ms_leaf_pages + 1) * (stat.ms_psize / kLeastNodeBytes);
  if (stat.ms_entries > most) fail(source_, "is damaged: more records than fit", "copy it again, or make it anew");
  require(mdb_cursor_open(txn_, main_database, &cursor_), source_);
  entries_.reset(new Entry[static_cast<size_t>(size_)]);  // left unset: pages are taken as the walk goes on
}

/// A page beyond the end of the file would kill the process when it is touched, so the length is checked before.
void LmdbReader::check_length() const {
  MDB_envinfo info;
  MDB_stat stat;
  require(mdb_env_info(env_, &info), source_);
  require(mdb_env_stat(env_, &stat), source_);
  struct ::stat file {};
  int fd = -1;
  if (mdb_env_get_fd(env_, &fd) != MDB_SUCCESS || ::fstat(fd, &file) != 0) fail(source_, "cannot be read", "");
  const uint64_t whole_pages = static_cast<uint64_t>(file.st_size) / stat.ms_psize;
  if (info.me_last_pgno < whole_pages) return;
  fail(source_, str("is cut off: data.mdb has ", whole_pages, " of ", info.me_last_pgno + 1, " pages"),
       "copy it again (was the disk full?), or make it anew");
}

void LmdbReader::close() {
  if (cursor_) mdb_cursor_close(cursor_);
  if (txn_) mdb_txn_abort(txn_);
  if (env_) mdb_env_close(env_);
  cursor_ = nullptr;
  txn_ = nullptr;
  env_ = nullptr;
}

std::string_view LmdbReader::record(int64_t index, std::string&) const {
  const Entry& found = entry(index);
  return {found.value, found.value_size};
}

std::string LmdbReader::key(int64_t index) const {
  const Entry& found = entry(index);
  return {found.key, found.key_size};
}

const LmdbReader::Entry& LmdbReader::entry(int64_t index) const {
  if (index >= known_.load(std::memory_order_acquire)) walk_to(index);
  return entries_[static_cast<size_t>(index)];
}

void LmdbReader::walk_to(int64_t index) const {
  std::lock_guard lock(mutex_);
  for (int64_t at = known_.load(std::memory_order_relaxed); at <= index; ++at) {
    MDB_val key, value;
    const int status = mdb_cursor_get(cursor_, &key, &value, MDB_NEXT);
    if (status == MDB_NOTFOUND)
      fail(source_, str("is damaged: it ends after ", at, " of ", size_, " records"), "make it anew");
    require(status, source_);
    entries_[static_cast<size_t>(at)] = {static_cast<const char*>(key.mv_data), static_cast<const char*>(value.mv_data),
                                         static_cast<uint32_t>(key.mv_size), static_cast<uint32_t>(value.mv_size)};
    known_.store(at + 1, std::memory_order_release);
  }
}

}  // namespace robusta
