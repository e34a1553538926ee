// Tables as the records come; at the end a manifest that names them, and CURRENT, which names the manifest.

#include "data/leveldb/leveldb_writer.h"

#include <algorithm>
#include <memory>

#include "base/excerpt.h"
#include "base/str.h"
#include "data/leveldb/level_bytes.h"
#include "data/writer_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr uint64_t kTableBytes = uint64_t{64} << 20;  // few files, and little that waits to be synced
constexpr size_t kMostValue = size_t{1} << 31;        // protobuf reads no more, and a block's sizes have 32 bits
constexpr int kLastLevel = 6;
constexpr char kManifest[] = "MANIFEST-000001";

std::string_view user_key(const std::string& stored) {
  return std::string_view(stored).substr(0, stored.size() - sizeof(uint64_t));
}

}  // namespace

LevelDbWriter::LevelDbWriter(const std::string& folder) : folder_(folder) {}

template <typename Body>
void LevelDbWriter::named(const Body& body) const {
  try {
    body();
  } catch (Error& error) {
    throw error.at("the LevelDB " + folder_.path());
  }
}

void LevelDbWriter::put(std::string_view key, std::string_view value) {
  named([&] { add(key, value); });
}

void LevelDbWriter::add(std::string_view key, std::string_view value) {
  if (size_ > 0 && key == last_key_)
    throw Error(ErrorKind::kOutput, "the key \"" + excerpt(key) + "\" comes twice",
                "give each record a key of its own");
  if (value.size() >= kMostValue) {
    throw Error(ErrorKind::kOutput, str("the record \"", excerpt(key), "\" has ", value.size(), " bytes"),
                "store smaller images, or encoded ones");
  }
  const bool full = table_ && table_->bytes() >= kTableBytes;
  if (full || (size_ > 0 && key < last_key_)) close_table();
  if (!table_) table_.emplace(folder_.temporary(), next_number_++);
  table_->put(key, static_cast<uint64_t>(++size_), value);
  last_key_ = key;
}

void LevelDbWriter::close_table() {
  if (!table_) return;
  const LevelTableInfo table = table_->finish();
  tables_.push_back({table, level_of(table)});
  table_.reset();
}

/// Tables of one level may not overlap, but for level 0, where later ones hide earlier ones and all of the others.
int LevelDbWriter::level_of(const LevelTableInfo& table) const {
  const bool overlaps = std::ranges::any_of(tables_, [&](const Placed& other) {
    return user_key(table.smallest) <= user_key(other.table.largest) &&
           user_key(other.table.smallest) <= user_key(table.largest);
  });
  return overlaps ? 0 : kLastLevel;
}

/// One change, from no tables to these. The numbers are those of its fields.
std::string LevelDbWriter::manifest() const {
  enum Tag { kComparator = 1, kLog, kNextFile, kLastWrite, kNewTable = 7 };
  std::string edit;
  put_varint(edit, kComparator);
  put_counted(edit, "leveldb.BytewiseComparator");
  for (const auto& [tag, value] : {std::pair<Tag, uint64_t>{kLog, 0},  // no log has what is in no table
                                   {kNextFile, next_number_},
                                   {kLastWrite, static_cast<uint64_t>(size_)}}) {
    put_varint(edit, tag);
    put_varint(edit, value);
  }
  for (const auto& [table, level] : tables_) {
    put_varint(edit, kNewTable);
    put_varint(edit, static_cast<uint64_t>(level));
    put_varint(edit, table.number);
    put_varint(edit, table.bytes);
    put_counted(edit, table.smallest);
    put_counted(edit, table.largest);
  }
  return level_log_of(edit);
}

void LevelDbWriter::write_whole(const std::string& name, const std::string& content) const {
  LevelOutput output(folder_.temporary(), name);
  output.append(content);
  output.close();
}

void LevelDbWriter::finish() {
  named([&] {
    close_table();
    write_whole(kManifest, manifest());
    write_whole("CURRENT", std::string(kManifest) + "\n");
  });
  folder_.publish();
}

namespace {

std::unique_ptr<RecordWriter> make_leveldb(const std::string& folder) {
  return std::make_unique<LevelDbWriter>(folder);
}

[[maybe_unused]] const bool registered_leveldb_writer = register_writer({"leveldb", make_leveldb});

}  // namespace
}  // namespace robusta
