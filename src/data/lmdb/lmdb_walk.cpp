// Pages and nodes of LMDB 0.9's B+ tree. After a page's header comes a table of 16-bit offsets of nodes. A node: 32
// bits of size (in a leaf) or 48 bits of page number (in a branch), in place of whose upper 16 bits a leaf has flags;
// 16 bits of key size; the key; in a leaf the value, or the number of the first page of a value that has pages of its
// own.

#include "data/lmdb/lmdb_walk.h"

#include "base/str.h"

namespace robusta {
namespace {

constexpr size_t kNodeHeader = 8;
constexpr uint16_t kBigValue = 1;   // the flag of a value with pages of its own; others mark trees within trees
constexpr uint64_t kFirstPage = 2;  // behind the meta pages

}  // namespace

LmdbWalk::LmdbWalk(const LmdbFile& file) : file_(file), levels_(file.tree().depth) {
  for (Level& level : levels_) level.bytes.resize(file.page_size());
}

void LmdbWalk::damaged(const Level& level, const std::string& how) const {
  file_.fail(str("is damaged: page ", level.page, " ", how), "copy it again, or make it anew");
}

bool LmdbWalk::next(LmdbRecord& record) {
  if (!begun_) enter(0, file_.tree().root);
  begun_ = true;
  if (!to_next_leaf()) return false;
  Level& leaf = levels_.back();
  record = record_of(leaf, leaf.next++);
  return true;
}

/// Unless the leaf that was entered last has more nodes: up as far as all was visited, and down again.
bool LmdbWalk::to_next_leaf() {
  size_t level = levels_.size() - 1;
  while (levels_[level].next == levels_[level].count) {
    if (level == 0) return false;
    --level;
  }
  for (; level + 1 < levels_.size(); ++level) {
    Level& branch = levels_[level];
    enter(level + 1, child_of(branch, branch.next++));
  }
  return true;
}

void LmdbWalk::enter(size_t index, uint64_t page) {
  Level& level = levels_[index];
  level.page = page;
  if (page < kFirstPage || page >= file_.pages()) damaged(level, "is asked for, but there is no such page");
  char* const bytes = level.bytes.data();
  file_.read(page * file_.page_size(), bytes, level.bytes.size());
  const LmdbPageKind wanted = index + 1 < levels_.size() ? kLmdbBranch : kLmdbLeaf;
  // A page holds its own number: a pointer into anything else is noticed here.
  if (load_as<uint64_t>(bytes) != page || lmdb_kind(bytes) != wanted) {
    damaged(level, wanted == kLmdbLeaf ? "holds no records" : "is no branch of its tree");
  }
  const size_t table_end = load_as<uint16_t>(bytes + 12);
  if (table_end <= kLmdbPageHeader || table_end > level.bytes.size()) damaged(level, "has an impossible size");
  level.count = (table_end - kLmdbPageHeader) / sizeof(uint16_t);
  level.next = 0;
  if (level.count == 0) damaged(level, "is empty");
}

size_t LmdbWalk::node_of(const Level& level, size_t index) const {
  const char* const bytes = level.bytes.data();
  const size_t table_end = kLmdbPageHeader + level.count * sizeof(uint16_t);
  const size_t at = load_as<uint16_t>(bytes + kLmdbPageHeader + index * sizeof(uint16_t));
  const bool header_fits = at >= table_end && at + kNodeHeader <= level.bytes.size();
  if (!header_fits || at + kNodeHeader + load_as<uint16_t>(bytes + at + 6) > level.bytes.size()) {
    damaged(level, str("has no room for its node ", index));
  }
  return at;
}

uint64_t LmdbWalk::child_of(const Level& level, size_t index) const {
  const char* const node = level.bytes.data() + node_of(level, index);
  return load_as<uint32_t>(node) | uint64_t{load_as<uint16_t>(node + 4)} << 32;
}

LmdbRecord LmdbWalk::record_of(const Level& leaf, size_t index) const {
  const size_t at = node_of(leaf, index);
  const char* const node = leaf.bytes.data() + at;
  const uint64_t page_at = leaf.page * file_.page_size();
  LmdbRecord record;
  record.value_size = load_as<uint32_t>(node);
  record.key_size = load_as<uint16_t>(node + 6);
  record.key_at = page_at + at + kNodeHeader;
  record.value_at = record.key_at + record.key_size;
  const auto flags = load_as<uint16_t>(node + 4);
  if (flags != 0 && flags != kBigValue) damaged(leaf, str("has a tree in place of record ", index));
  record.overflow = flags == kBigValue;
  const size_t room = leaf.bytes.size() - at - kNodeHeader - record.key_size;
  const size_t needed = record.overflow ? sizeof(uint64_t) : record.value_size;
  if (needed > room) damaged(leaf, str("has no room for the value of its record ", index));
  if (!record.overflow) return record;
  const auto first = load_as<uint64_t>(node + kNodeHeader + record.key_size);
  const uint64_t pages = (kLmdbPageHeader + uint64_t{record.value_size} + file_.page_size() - 1) / file_.page_size();
  if (first < kFirstPage || first >= file_.pages() || pages > file_.pages() - first) {
    damaged(leaf, str("has a record ", index, " whose value lies beyond the end"));
  }
  record.value_at = first * file_.page_size();
  return record;
}

}  // namespace robusta
