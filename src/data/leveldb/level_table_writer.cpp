// LevelDB's doc/table_format.md, written.

#include "data/leveldb/level_table_writer.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/str.h"
#include "data/convert/files.h"
#include "data/leveldb/level_bytes.h"

namespace robusta {

void LevelBlockBuilder::add(std::string_view key, std::string_view value) {
  constexpr uint32_t kEntriesPerRestart = 16;
  size_t shared = 0;
  if (restart_count_ == 0 || since_restart_ == kEntriesPerRestart) {
    put_fixed(restarts_, static_cast<uint32_t>(entries_.size()));
    ++restart_count_;
    since_restart_ = 0;
  } else {
    shared = static_cast<size_t>(std::ranges::mismatch(last_key_, key).in1 - last_key_.begin());
  }
  ++since_restart_;
  put_varint(entries_, shared);
  put_varint(entries_, key.size() - shared);
  put_varint(entries_, value.size());
  entries_ += key.substr(shared);
  entries_ += value;
  last_key_ = key;
}

std::string LevelBlockBuilder::take() {
  if (restart_count_ == 0) put_fixed(restarts_, uint32_t{0}), restart_count_ = 1;  // an empty block has one, too
  put_fixed(restarts_, restart_count_);
  std::string block = std::move(entries_);
  block += restarts_;
  *this = {};
  return block;
}

LevelTableWriter::LevelTableWriter(const std::string& folder, uint64_t number)
    : output_(folder, padded(static_cast<int64_t>(number), 6) + ".ldb") {
  info_.number = number;
}

void LevelTableWriter::put(std::string_view user, uint64_t write, std::string_view value) {
  constexpr size_t kBlock = 4096;  // libleveldb's default; whoever wants one record reads all of its block
  std::string key(user);
  put_fixed(key, write << 8 | 1);
  block_.add(key, value);
  if (info_.smallest.empty()) info_.smallest = key;
  info_.largest = std::move(key);
  if (block_.bytes() >= kBlock) write_block();
}

void LevelTableWriter::write_block() {
  if (!block_.empty()) index_.add(info_.largest, append(block_.take()));
}

std::string LevelTableWriter::append(const std::string& block) {
  constexpr char kNotPacked = 0;
  std::string handle, trailer(1, kNotPacked);
  put_varint(handle, output_.size());
  put_varint(handle, block.size());
  put_fixed(trailer, masked_crc(block, {&kNotPacked, 1}));
  output_.append(block);
  output_.append(trailer);
  return handle;
}

LevelTableInfo LevelTableWriter::finish() {
  constexpr size_t kHandles = 40;
  constexpr uint64_t kMagic = 0xdb4775248b80fb57;
  write_block();
  std::string footer = append(LevelBlockBuilder().take());  // of filters, which there are none of
  footer += append(index_.take());
  footer.resize(kHandles);
  put_fixed(footer, kMagic);
  output_.append(footer);
  output_.close();
  info_.bytes = output_.size();
  return info_;
}

}  // namespace robusta
