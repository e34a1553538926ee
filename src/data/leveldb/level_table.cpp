// LevelDB's doc/table_format.md.

#include "data/leveldb/level_table.h"

#include <filesystem>

#include "base/crc32c.h"
#include "base/str.h"
#include "data/leveldb/level_bytes.h"

namespace robusta {
namespace {

/// "000005.ldb", or under its older ending "000005.sst".
std::string table_name(const std::string& folder, uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  std::error_code error;
  const bool old = std::filesystem::exists(std::filesystem::path(folder) / (digits + ".sst"), error) &&
                   !std::filesystem::exists(std::filesystem::path(folder) / (digits + ".ldb"), error);
  return digits + (old ? ".sst" : ".ldb");
}

LevelBlock read_handle(LevelBytes& in) {
  const uint64_t at = in.varint();
  return {at, in.varint()};
}

/// The entries of an unpacked block, without the array of restarts behind them; nothing where there is no such array.
std::string_view entries_of(std::string_view block) {
  if (block.size() < sizeof(uint32_t)) return {};
  uint32_t restarts;
  std::memcpy(&restarts, block.data() + block.size() - sizeof restarts, sizeof restarts);
  const uint64_t behind = (uint64_t{restarts} + 1) * sizeof restarts;
  return behind > block.size() ? std::string_view() : block.substr(0, block.size() - behind);
}

/// Calls take(key, value, entry) for each entry. False: the block is damaged.
template <typename Take>
bool walk_entries(std::string_view block, const Take& take) {
  const std::string_view entries = entries_of(block);
  if (entries.empty()) return !block.empty() && block.size() <= 2 * sizeof(uint32_t);
  LevelBytes in(entries);
  std::string key;
  while (!in.empty()) {
    const uint64_t entry = entries.size() - in.rest().size();
    const uint64_t shared = in.varint(), own = in.varint(), length = in.varint();
    const std::string_view rest = in.piece(own), value = in.piece(length);
    if (in.bad() || shared > key.size()) return false;
    key.resize(shared);
    key += rest;
    take(key, value, entry);
  }
  return true;
}

LevelBlock find_index(const LevelFile& file) {
  constexpr uint64_t kFooter = 48, kMagic = 0xdb4775248b80fb57;
  if (file.size() < kFooter) file.fail("it is cut off");
  std::string footer;
  file.read(file.size() - kFooter, kFooter, footer);
  if (LevelBytes(std::string_view(footer).substr(kFooter - sizeof kMagic)).fixed<uint64_t>() != kMagic)
    file.fail("it is cut off, or no table of a LevelDB");
  LevelBytes in(footer);
  read_handle(in);
  const LevelBlock index = read_handle(in);
  if (in.bad()) file.fail("it is damaged: its footer names no index");
  return index;
}

}  // namespace

LevelTable::LevelTable(const std::string& folder, uint64_t number)
    : folder_(folder), name_(table_name(folder, number)) {}

void LevelTable::read(const LevelBlock& block, std::string& out) const { read(LevelFile(folder_, name_), block, out); }

void LevelTable::read(const LevelFile& file, const LevelBlock& block, std::string& out) const {
  constexpr uint64_t kTrailer = 5;
  thread_local std::string stored;
  if (block.bytes > file.size()) file.fail(str("it is damaged: a block of ", block.bytes, " bytes"));
  file.read(block.at, block.bytes + kTrailer, stored);
  const std::string_view packed = std::string_view(stored).substr(0, block.bytes);
  LevelBytes trailer(std::string_view(stored).substr(block.bytes));
  const std::string_view kind = trailer.piece(1);
  if (trailer.fixed<uint32_t>() != masked_crc(packed, kind))
    file.fail(str("it is damaged: the checksum of the block at byte ", block.at, " is wrong"));
  if (kind[0] == 0) {
    out.assign(packed);
  } else if (kind[0] != 1) {
    throw Error(ErrorKind::kUnsupported, "it is packed in another way than Snappy's", "write the data as LMDB")
        .at(file.path());
  } else if (!unpack_snappy(packed, out)) {
    file.fail(str("it is damaged: the block at byte ", block.at, " cannot be unpacked"));
  }
}

void LevelTable::walk(const Take& take) const {
  const LevelFile file(folder_, name_);
  const LevelBlock at = find_index(file);
  std::string index, block, before;
  read(file, at, index);
  const auto damaged = [&](const LevelBlock& where) {
    file.fail(str("it is damaged: the block at byte ", where.at, " holds no entries in order"));
  };
  const auto look_into = [&](std::string_view, std::string_view handle, uint64_t) {
    LevelBytes in(handle);
    const LevelBlock where = read_handle(in);
    if (in.bad()) damaged(at);
    read(file, where, block);
    const bool whole = walk_entries(block, [&](std::string_view key, std::string_view, uint64_t entry) {
      if (key.size() < sizeof(uint64_t)) damaged(where);
      const uint64_t tag = LevelBytes(key.substr(key.size() - sizeof(uint64_t))).fixed<uint64_t>();
      const std::string_view user = key.substr(0, key.size() - sizeof tag);
      if (user < before || (tag & 0xff) > 1) damaged(where);
      before = user;
      take({user, tag >> 8, (tag & 0xff) == 0}, where, entry);
    });
    if (!whole) damaged(where);
  };
  if (!walk_entries(index, look_into)) damaged(at);
}

std::string_view LevelTable::value(std::string_view block, uint64_t entry) const {
  const std::string_view entries = entries_of(block);
  if (entry >= entries.size()) fail_changed();
  LevelBytes in(entries.substr(entry));
  in.varint();
  const uint64_t own = in.varint(), length = in.varint();
  in.piece(own);
  const std::string_view value = in.piece(length);
  if (in.bad()) fail_changed();
  return value;
}

void LevelTable::fail_changed() const { LevelFile(folder_, name_).fail("it has changed since it was opened"); }

}  // namespace robusta
