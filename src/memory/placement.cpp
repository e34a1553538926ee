// Greedy by size (Pisarchyk and Lee 2020, section 5, offset calculation): the largest value first, each at the lowest
// offset where it meets no other that is alive at the same time.

#include "memory/placement.h"

#include <algorithm>
#include <numeric>

namespace robusta {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

struct Block {
  size_t begin, end;
};

/// The lowest gap between the blocks that holds `bytes`.
size_t lowest_gap(std::vector<Block>& blocks, size_t bytes) {
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
  size_t offset = 0;
  for (const Block& block : blocks) {
    if (offset + bytes <= block.begin) break;
    offset = std::max(offset, block.end);
  }
  return offset;
}

}  // namespace

Placement place(const std::vector<Lifetime>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a].bytes > values[b].bytes; });

  Placement placement{std::vector<size_t>(values.size(), 0), 0};
  std::vector<size_t> placed;
  std::vector<Block> blocks;
  for (size_t v : order) {
    const size_t bytes = align_up(values[v].bytes);
    if (bytes == 0) continue;
    blocks.clear();
    for (size_t p : placed) {
      if (!meet(values[v], values[p])) continue;
      blocks.push_back({placement.offsets[p], placement.offsets[p] + align_up(values[p].bytes)});
    }
    placement.offsets[v] = lowest_gap(blocks, bytes);
    placement.bytes = std::max(placement.bytes, placement.offsets[v] + bytes);
    placed.push_back(v);
  }
  return placement;
}

Placement place_apart(const std::vector<Lifetime>& values) {
  Placement placement{std::vector<size_t>(values.size(), 0), 0};
  for (size_t v = 0; v < values.size(); ++v) {
    placement.offsets[v] = placement.bytes;
    placement.bytes += align_up(values[v].bytes);
  }
  return placement;
}

}  // namespace robusta
