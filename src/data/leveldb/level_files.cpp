// CURRENT names the manifest, which is a log of changes of the set of tables.

#include "data/leveldb/level_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/crc32c.h"
#include "base/str.h"
#include "data/leveldb/level_bytes.h"

namespace robusta {
namespace {

constexpr char kCopyAgain[] = "copy the database again, or write it anew; LMDB is faster";
constexpr uint64_t kMostLog = uint64_t{1} << 30;  // bytes; Caffe's tools keep a quarter of that back

/// A change of the set of tables: fields of a tag each.
void apply_edit(const LevelFile& file, std::string_view edit, std::set<uint64_t>& tables, LevelManifest& manifest) {
  enum Tag { kComparator = 1, kLog, kNextFile, kLastSequence, kCompaction, kDeleted, kNew, kOtherLog = 9 };
  LevelBytes in(edit);
  while (!in.empty()) {
    switch (in.varint()) {
      case kComparator:
        if (const auto name = in.counted(); !in.bad() && name != "leveldb.BytewiseComparator")
          file.fail(str("the keys are in an order of their own: ", name));
        break;
      case kLog:
        manifest.first_log = in.varint();
        break;
      case kOtherLog:
        manifest.other_log = in.varint();
        break;
      case kNextFile:
      case kLastSequence:
        in.varint();
        break;
      case kCompaction:
        in.varint();
        in.counted();
        break;
      case kDeleted:
        in.varint();
        tables.erase(in.varint());
        break;
      case kNew: {
        in.varint();
        const uint64_t number = in.varint();
        in.varint();
        in.counted();
        in.counted();
        tables.insert(number);
        break;
      }
      default:
        file.fail("it is damaged: a change of an unknown kind");
    }
    if (in.bad()) file.fail("it is damaged: a change is cut off");
  }
}

}  // namespace

LevelFile::LevelFile(const std::string& folder, const std::string& name)
    : path_((std::filesystem::path(folder) / name).string()), input_(open_input_file(path_, ErrorKind::kData)) {}

void LevelFile::fail(const std::string& cause) const { throw Error(ErrorKind::kData, cause, kCopyAgain).at(path_); }

void LevelFile::read(uint64_t at, uint64_t bytes, std::string& out) const {
  if (at > size() || bytes > size() - at) fail(str("it is damaged: bytes ", at, " to ", at + bytes, " are not there"));
  out.resize(bytes);
  uint64_t have = 0;
  while (have < bytes) {
    const ssize_t got =
        ::pread(input_.descriptor.get(), out.data() + have, bytes - have, static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(str("it cannot be read at byte ", at + have, ": ", std::strerror(errno)));
    if (got == 0) fail("it has been cut off");
    have += static_cast<uint64_t>(got);
  }
}

LevelManifest read_level_manifest(const std::string& folder) {
  const LevelFile current(folder, "CURRENT");
  constexpr uint64_t kMostName = 1000;
  std::string name;
  current.read(0, std::min(current.size(), kMostName), name);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (!name.starts_with("MANIFEST-") || name.find('/') != std::string::npos) current.fail("it names no manifest");
  const LevelFile file(folder, name);
  LevelManifest manifest;
  std::set<uint64_t> tables;
  walk_level_log(file, [&](std::string_view edit) { apply_edit(file, edit, tables, manifest); });
  manifest.tables.assign(tables.begin(), tables.end());
  return manifest;
}

/// Records are cut into pieces that do not cross blocks of 32 KiB; each piece has a checksum, a length and a kind.
void walk_level_log(const LevelFile& file, const std::function<void(std::string_view record)>& take) {
  constexpr uint64_t kBlock = 32768, kHeader = 7;
  enum Kind : uint8_t { kWhole = 1, kFirst, kMiddle, kLast };
  if (file.size() > kMostLog) file.fail(str("a log of ", file.size(), " bytes is more than Caffe's tools leave"));
  std::string block, record;
  bool within = false;
  for (uint64_t at = 0; at < file.size(); at += kBlock) {
    file.read(at, std::min(kBlock, file.size() - at), block);
    LevelBytes in(block);
    while (in.rest().size() >= kHeader) {
      const auto crc = in.fixed<uint32_t>();
      const auto length = in.fixed<uint16_t>();
      const std::string_view kind = in.piece(1);
      if (length > in.rest().size()) {
        if (at + kBlock >= file.size()) return;  // cut off while it was written
        file.fail("it is damaged: a piece crosses the end of its block");
      }
      const std::string_view piece = in.piece(length);
      if (kind[0] == 0 && length == 0) break;  // room that was taken beforehand
      if (masked_crc(kind, piece) != crc) file.fail(str("it is damaged: a checksum near byte ", at, " is wrong"));
      const bool begins = kind[0] == kWhole || kind[0] == kFirst, ends = kind[0] == kWhole || kind[0] == kLast;
      if (begins == within || kind[0] > kLast) file.fail(str("it is damaged: pieces near byte ", at, " do not join"));
      if (begins) record.clear();
      record += piece;
      within = !ends;
      if (ends) take(record);
    }
  }
}

}  // namespace robusta
