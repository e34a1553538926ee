// Records by number: places come from one walk over the tree, shared by all threads; values are read where they lie.

#include "data/lmdb/lmdb_reader.h"

#include <filesystem>
#include <map>

#include "base/str.h"
#include "data/reader_kinds.h"

namespace robusta {

std::shared_ptr<const LmdbReader> LmdbReader::open(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const LmdbReader>> readers;
  std::error_code absent;
  const std::string canonical = std::filesystem::canonical(folder, absent).string();
  std::lock_guard lock(mutex);
  // Weak: a database that no source reads any more is closed.
  std::weak_ptr<const LmdbReader>& known = readers[canonical];
  if (auto reader = known.lock()) return reader;
  std::shared_ptr<const LmdbReader> reader(new LmdbReader(folder));
  known = reader;
  return reader;
}

LmdbReader::LmdbReader(const std::string& folder)
    : source_(folder),
      file_(folder),
      walk_(file_),
      places_(std::make_unique_for_overwrite<LmdbRecord[]>(file_.tree().entries)) {}

std::string_view LmdbReader::record(int64_t index, std::string& storage) const {
  const LmdbRecord& found = place(index);
  const size_t header = found.overflow ? kLmdbPageHeader : 0;
  try {
    storage.resize(header + found.value_size);
    file_.read(found.value_at, storage.data(), storage.size());
    const bool right = !found.overflow || (load_as<uint64_t>(storage.data()) == found.value_at / file_.page_size() &&
                                           lmdb_kind(storage.data()) == kLmdbOverflow);
    if (!right)
      file_.fail("is damaged: the pages of this record hold something else", "copy it again, or make it anew");
  } catch (const Error& error) {
    throw Error(error.kind(), "record " + record_name(*this, index) + ": " + error.cause(), error.fix());
  }
  return std::string_view(storage).substr(header);
}

std::string LmdbReader::key(int64_t index) const {
  const LmdbRecord& found = place(index);
  std::string key(found.key_size, '\0');
  file_.read(found.key_at, key.data(), key.size());
  return key;
}

const LmdbRecord& LmdbReader::place(int64_t index) const {
  if (index >= known_.load(std::memory_order_acquire)) walk_to(index);
  return places_[static_cast<size_t>(index)];
}

void LmdbReader::walk_to(int64_t index) const {
  std::lock_guard lock(mutex_);
  int64_t at = known_.load(std::memory_order_relaxed);
  try {
    if (broken_) throw *broken_;
    for (; at <= index; ++at) {
      if (!walk_.next(places_[static_cast<size_t>(at)]))
        file_.fail(str("is damaged: it ends after ", at, " of ", size(), " records"), "make it anew");
      // Released once the place is written: a thread that sees the count without the lock sees the place, too.
      known_.store(at + 1, std::memory_order_release);
    }
  } catch (const Error& error) {
    if (!broken_) broken_.emplace(error.kind(), str("record ", at, ": ", error.cause()), error.fix());
    throw *broken_;
  }
}

namespace {

bool is_lmdb(const std::string& source) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(source) / "data.mdb", error);
}

std::shared_ptr<const RecordReader> open_lmdb(const std::string& source) { return LmdbReader::open(source); }

[[maybe_unused]] const bool registered = register_reader({"LMDB", "an LMDB", is_lmdb, open_lmdb});

}  // namespace
}  // namespace robusta
