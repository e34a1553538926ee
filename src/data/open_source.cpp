// What lies at a path decides how it is read; what the prototxt calls it is only used for words.

#include "data/open_source.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/log.h"
#include "data/reader_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

void warn_of_backend(const std::string& source, const ReaderKind& kind, const std::string& backend) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  std::lock_guard lock(mutex);
  if (!warned.insert(source).second) return;
  LOG_WARNING << source << " is " << kind.called << " and is read as one, though data_param.backend is " << backend
              << (backend == "LEVELDB" ? " (Caffe's default)" : "") << "; write backend: " << kind.backend;
}

/// The kind of what is there; of what is nothing known, or too much, the kind that the prototxt names.
const ReaderKind& kind_of(const std::string& source, const std::string& backend) {
  const std::vector<ReaderKind>& kinds = reader_kinds();
  const auto named = std::ranges::find(kinds, backend, &ReaderKind::backend);
  if (named != kinds.end() && named->recognises(source)) return *named;
  for (const ReaderKind& kind : kinds) {
    if (kind.recognises(source)) return kind;
  }
  return named == kinds.end() ? kinds.front() : *named;
}

}  // namespace

bool source_is_missing(const std::string& source) {
  std::error_code error;
  return !fs::exists(source, error);
}

std::shared_ptr<const RecordReader> open_source(const std::string& source, caffe::DataParameter::DB backend) {
  if (source.empty()) throw Error(ErrorKind::kConfig, "no source is given", "set data_param.source to the LMDB folder");
  const std::string& named = caffe::DataParameter::DB_Name(backend);
  const ReaderKind& kind = kind_of(source, named);
  auto reader = kind.open(source);
  if (named != kind.backend) warn_of_backend(source, kind, named);
  return reader;
}

caffe::DataParameter::DB parse_backend(const std::string& backend) {
  if (backend == "lmdb") return caffe::DataParameter::LMDB;
  if (backend == "leveldb") return caffe::DataParameter::LEVELDB;
  throw Error(ErrorKind::kUsage, "unknown database backend \"" + backend + "\"", "say lmdb or leveldb");
}

}  // namespace robusta
