// Databases of LevelDB.
//
// Nothing that is changed at random has the right checksums, so the input is what they are about. It is pieces of
// "kind, length (2 bytes, little-endian), bytes", which become files:
//   m, l   a record of the manifest, of a log
//   b      a block of a table, with the byte of its compression last
//   M, L, T   bytes of these files as they are (the footer of a table)

#include "data/leveldb/leveldb_reader.h"

#include <algorithm>
#include <filesystem>

#include "base/crc32c.h"
#include "data/leveldb/level_bytes.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

constexpr size_t kLevelLogBlock = 32768, kLevelLogHeader = 7;

template <typename T>
std::string little_endian(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A whole record as logs have it; one that would cross a block is left out.
void append_record(std::string_view record, std::string& log) {
  if (log.size() % kLevelLogBlock + kLevelLogHeader + record.size() > kLevelLogBlock) return;
  const std::string kind(1, '\1');
  log += little_endian(masked_crc(kind, record)) + little_endian(static_cast<uint16_t>(record.size())) + kind;
  log += record;
}

void append_block(std::string_view block, std::string& table) {
  if (block.empty()) return;
  table += block;
  table += little_endian(masked_crc(block));
}

void read_leveldb(std::string_view input) {
  std::string manifest, log, table;
  while (input.size() >= 3) {
    const char kind = input[0];
    const size_t length = static_cast<uint8_t>(input[1]) | static_cast<size_t>(static_cast<uint8_t>(input[2])) << 8;
    const std::string_view piece = input.substr(3, length);
    input.remove_prefix(3 + piece.size());
    switch (kind) {
      case 'm':
        append_record(piece, manifest);
        break;
      case 'l':
        append_record(piece, log);
        break;
      case 'b':
        append_block(piece, table);
        break;
      case 'M':
        manifest += piece;
        break;
      case 'L':
        log += piece;
        break;
      case 'T':
        table += piece;
        break;
      default:
        break;
    }
  }
  const std::string current = file_of("MANIFEST-000001\n", "leveldb/CURRENT");
  file_of(manifest, "leveldb/MANIFEST-000001");
  file_of(log, "leveldb/000002.log");
  file_of(table, "leveldb/000003.ldb");
  const auto reader = LevelDbReader::open(std::filesystem::path(current).parent_path());
  std::string storage;
  for (int64_t i = 0; i < std::min<int64_t>(reader->size(), 100); ++i) {
    reads([&] { reader->record(i, storage); });
    reads([&] { reader->key(i); });
  }
}

[[maybe_unused]] const bool registered_leveldb = register_target("leveldb", read_leveldb);

}  // namespace
}  // namespace robusta::fuzz
