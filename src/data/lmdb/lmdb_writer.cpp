// Transactions of many records; the map doubles when it is full, as LMDB asks for a size beforehand.

#include "data/lmdb/lmdb_writer.h"

#include <lmdb.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <memory>

#include "base/str.h"
#include "data/writer_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

// records, as Caffe's tools commit; and bytes that are held until then
constexpr size_t kCommitEvery = 1000, kCommitBytes = size_t{64} << 20;

bool is_full(const std::string& folder) {
  constexpr uint64_t kNearlyNothing = 1 << 20;
  struct statvfs disk = {};
  return ::statvfs(folder.c_str(), &disk) == 0 && uint64_t{disk.f_bavail} * disk.f_frsize < kNearlyNothing;
}

}  // namespace

LmdbWriter::LmdbWriter(const std::string& folder) : folder_(folder) {
  try {
    open_environment();
  } catch (...) {
    close();
    throw;
  }
}

void LmdbWriter::open_environment() {
  require(mdb_env_create(&env_));
  // Nothing is read before finish() has synced, so each commit may leave the writing to the system.
  require(mdb_env_open(env_, folder_.temporary().c_str(), MDB_NOSYNC, 0664));
}

void LmdbWriter::close() {
  if (env_) mdb_env_close(env_);
  env_ = nullptr;
}

void LmdbWriter::require(int status) const {
  if (status == MDB_SUCCESS) return;
  // LMDB calls a write that the disk took only in part an I/O error.
  if (status == EIO && is_full(folder_.temporary())) status = ENOSPC;
  const std::string fix = status == ENOSPC || status == EDQUOT ? "free some space or write elsewhere" : "";
  throw Error(ErrorKind::kOutput, str("cannot write the LMDB ", folder_.path(), ": ", mdb_strerror(status)), fix);
}

void LmdbWriter::put(std::string_view key, std::string_view value) {
  const auto longest = static_cast<size_t>(mdb_env_get_maxkeysize(env_));
  if (key.empty() || key.size() > longest) {
    throw Error(ErrorKind::kOutput,
                str("key \"", key.substr(0, 60), "...\" has ", key.size(), " bytes; an LMDB takes 1 to ", longest),
                "use shorter file names");
  }
  pending_.emplace_back(key, value);
  ++size_;
  pending_bytes_ += value.size();
  if (pending_.size() >= kCommitEvery || pending_bytes_ >= kCommitBytes) commit();
}

void LmdbWriter::commit() {
  int status;
  while ((status = try_commit()) == MDB_MAP_FULL) {
    MDB_envinfo info;
    require(mdb_env_info(env_, &info));
    require(mdb_env_set_mapsize(env_, info.me_mapsize * 2));
  }
  require(status);
  pending_.clear();
  pending_bytes_ = 0;
}

/// One transaction with all that is pending. Nothing of it stays when it fails.
int LmdbWriter::try_commit() {
  MDB_txn* txn = nullptr;
  MDB_dbi main_database;
  int status = mdb_txn_begin(env_, nullptr, 0, &txn);
  if (status != MDB_SUCCESS) return status;
  status = mdb_dbi_open(txn, nullptr, 0, &main_database);
  for (size_t i = 0; i < pending_.size() && status == MDB_SUCCESS; ++i) {
    auto& [key_bytes, value_bytes] = pending_[i];
    MDB_val key{key_bytes.size(), key_bytes.data()}, value{value_bytes.size(), value_bytes.data()};
    status = mdb_put(txn, main_database, &key, &value, MDB_NOOVERWRITE);
  }
  if (status == MDB_SUCCESS) return mdb_txn_commit(txn);
  mdb_txn_abort(txn);
  return status;
}

void LmdbWriter::finish() {
  commit();
  require(mdb_env_sync(env_, 1));
  close();
  folder_.publish();
}

namespace {

std::unique_ptr<RecordWriter> make_lmdb(const std::string& folder) { return std::make_unique<LmdbWriter>(folder); }

[[maybe_unused]] const bool registered_lmdb_writer = register_writer({"lmdb", make_lmdb});

}  // namespace
}  // namespace robusta
