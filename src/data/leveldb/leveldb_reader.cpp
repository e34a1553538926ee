// All entries of all tables and logs, sorted by key and newest first; of each key the newest one counts.

#include "data/leveldb/leveldb_reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/log.h"
#include "base/str.h"
#include "data/leveldb/level_bytes.h"
#include "data/reader_kinds.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

bool is_leveldb(const std::string& source) {
  std::error_code error;
  return fs::exists(fs::path(source) / "CURRENT", error);
}

std::vector<fs::directory_entry> files_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) files.push_back(*at);
  if (error) throw Error(ErrorKind::kData, "cannot list the files: " + error.message(), "check the path").at(folder);
  return files;
}

/// Numbers of the logs whose records are in no table.
std::vector<uint64_t> logs_of(const std::string& folder, const LevelManifest& manifest) {
  std::vector<uint64_t> logs;
  for (const auto& entry : files_of(folder)) {
    const std::string name = entry.path().filename().string();
    uint64_t number = 0;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (code != std::errc() || std::string_view(end) != ".log") continue;
    if (number >= manifest.first_log || (number != 0 && number == manifest.other_log)) logs.push_back(number);
  }
  std::ranges::sort(logs);
  return logs;
}

std::string log_name(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + ".log";
}

}  // namespace

std::shared_ptr<const LevelDbReader> LevelDbReader::open(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const LevelDbReader>> readers;
  std::error_code absent;
  const std::string canonical = fs::canonical(folder, absent).string();
  if (absent) throw Error(ErrorKind::kData, "the LevelDB " + folder + " does not exist", "check the path");
  std::lock_guard lock(mutex);
  std::weak_ptr<const LevelDbReader>& known = readers[canonical];
  if (auto reader = known.lock()) return reader;
  std::shared_ptr<const LevelDbReader> reader(new LevelDbReader(folder));
  known = reader;
  return reader;
}

LevelDbReader::LevelDbReader(const std::string& folder) : source_(folder) {
  LOG_INFO << "Reading all of the LevelDB " << folder << " once, to count its records.";
  const LevelManifest manifest = read_level_manifest(folder);
  for (const auto& entry : files_of(folder)) {
    std::error_code gone;
    const uint64_t size = entry.file_size(gone);
    if (!gone) bytes_ += size;
  }
  std::vector<Found> found;
  walk_tables(manifest, found);
  walk_logs(manifest, found);
  keep_newest(found);
  if (places_.empty()) {
    throw Error(ErrorKind::kData, "the LevelDB " + folder + " is empty", "write it anew, and see that it is closed");
  }
}

void LevelDbReader::add(const LevelKey& key, Place place, std::vector<Found>& found) {
  // Entries may share the beginnings of their keys: damaged ones could claim more keys than there is memory.
  constexpr uint64_t kMostRatio = 64;
  if (keys_.size() + found.size() * sizeof(Found) > kMostRatio * bytes_) {
    throw Error(ErrorKind::kData, "the LevelDB " + source_ + " is damaged: it claims more records than it can hold",
                "write it anew");
  }
  place.key_at = keys_.size();
  place.key_bytes = static_cast<uint32_t>(key.user.size());
  keys_ += key.user;
  found.push_back({place, key.write, key.deleted});
}

void LevelDbReader::walk_tables(const LevelManifest& manifest, std::vector<Found>& found) {
  for (const uint64_t number : manifest.tables) {
    tables_.emplace_back(source_, number);
    const auto table = static_cast<uint32_t>(tables_.size() - 1);
    tables_.back().walk([&](const LevelKey& key, const LevelBlock& block, uint64_t entry) {
      add(key, {.table = table, .block = block, .entry = entry}, found);
    });
  }
}

void LevelDbReader::walk_logs(const LevelManifest& manifest, std::vector<Found>& found) {
  for (const uint64_t number : logs_of(source_, manifest)) {
    const LevelFile file(source_, log_name(number));
    walk_level_log(file, [&](std::string_view batch) { take_batch(file, batch, found); });
  }
}

/// Several writes at once, the number of the first in front.
void LevelDbReader::take_batch(const LevelFile& file, std::string_view batch, std::vector<Found>& found) {
  LevelBytes in(batch);
  auto write = in.fixed<uint64_t>();
  in.fixed<uint32_t>();  // how many there are
  for (; !in.empty(); ++write) {
    const auto kind = in.fixed<uint8_t>();
    const LevelKey key{in.counted(), write, kind == 0};
    if (kind == 1) logged_.emplace_back(in.counted());
    if (in.bad() || kind > 1) break;
    add(key, {.block = {.at = logged_.size() - 1}}, found);
  }
  if (in.bad() || !in.empty()) file.fail("it is damaged: a batch of writes ends within a record");
}

void LevelDbReader::keep_newest(std::vector<Found>& found) {
  std::ranges::sort(found, [&](const Found& a, const Found& b) {
    const int order = key_of(a.place).compare(key_of(b.place));
    return order != 0 ? order < 0 : a.write > b.write;
  });
  for (size_t i = 0; i < found.size(); ++i) {
    const bool hidden = i > 0 && key_of(found[i].place) == key_of(found[i - 1].place);
    if (!hidden && !found[i].deleted) places_.push_back(found[i].place);
  }
  places_.shrink_to_fit();
}

std::string_view LevelDbReader::key_of(const Place& place) const {
  return std::string_view(keys_).substr(place.key_at, place.key_bytes);
}

std::string LevelDbReader::key(int64_t index) const { return std::string(key_of(places_[static_cast<size_t>(index)])); }

std::string_view LevelDbReader::record(int64_t index, std::string& storage) const {
  const Place& place = places_[static_cast<size_t>(index)];
  if (place.block.bytes == 0) return logged_[place.block.at];
  const LevelTable& table = tables_[place.table];
  thread_local std::string block;
  table.read(place.block, block);
  storage.assign(table.value(block, place.entry));
  return storage;
}

namespace {

std::shared_ptr<const RecordReader> open_leveldb(const std::string& source) { return LevelDbReader::open(source); }

[[maybe_unused]] const bool registered_leveldb = register_reader({"LEVELDB", "a LevelDB", is_leveldb, open_leveldb});

}  // namespace
}  // namespace robusta
