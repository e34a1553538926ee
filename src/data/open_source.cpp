#include "data/open_source.h"

#include <filesystem>
#include <mutex>
#include <set>

#include "base/log.h"
#include "data/lmdb_reader.h"
#include "robusta/error.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

constexpr char kConvert[] =
    "write it anew as LMDB: run convert_imageset, convert_mnist_data or convert_cifar_data with backend lmdb, or copy "
    "its records with the plyvel and lmdb modules of Python";

bool is_leveldb(const std::string& source) {
  std::error_code error;
  return fs::is_regular_file(fs::path(source) / "CURRENT", error) && !fs::exists(fs::path(source) / "data.mdb", error);
}

void warn_of_backend(const std::string& source) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  std::lock_guard lock(mutex);
  if (!warned.insert(source).second) return;
  LOG_WARNING << source << " is an LMDB and is read as one, though data_param.backend is LEVELDB (Caffe's default); "
              << "write backend: LMDB";
}

}  // namespace

bool source_is_missing(const std::string& source) {
  std::error_code error;
  return !fs::exists(source, error);
}

std::shared_ptr<const RecordReader> open_source(const std::string& source, caffe::DataParameter::DB backend) {
  if (source.empty()) throw Error(ErrorKind::kConfig, "no source is given", "set data_param.source to the LMDB folder");
  if (is_leveldb(source)) {
    throw Error(ErrorKind::kUnsupported, source + " is a LevelDB, and this build reads only LMDB", kConvert);
  }
  auto reader = LmdbReader::open(source);
  if (backend == caffe::DataParameter::LEVELDB) warn_of_backend(source);
  return reader;
}

void require_lmdb_backend(const std::string& backend) {
  if (backend == "lmdb") return;
  if (backend == "leveldb") {
    throw Error(ErrorKind::kUnsupported, "this build writes no LevelDB", "leave out the backend, or say lmdb");
  }
  throw Error(ErrorKind::kUsage, "unknown database backend \"" + backend + "\"", "say lmdb");
}

}  // namespace robusta
