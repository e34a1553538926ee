// Greedy: one value after the other, each in the lowest gap between those that are alive at the same time. Which order
// is best depends on the net, so several are tried, until one takes no more than what is alive at once.
//
// Largest first is Pisarchyk and Lee 2020, section 5 (offset calculation). Activations of a training are alive from a
// forward step to the backward step that mirrors it, one pair within the other as on a stack: longest first puts them
// one upon the other. Of an order that was not good enough what sticks out comes first in the next round (squeaky wheel
// optimization; Joslin and Clements 1999).

#include "memory/placement.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

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

Placement place_in(const std::vector<size_t>& order, const std::vector<Lifetime>& values) {
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

double bytes_of(const Lifetime& value) { return static_cast<double>(value.bytes); }
double steps_of(const Lifetime& value) { return static_cast<double>(value.last - value.first) + 1; }
double area_of(const Lifetime& value) { return bytes_of(value) * steps_of(value); }

/// Of most weight first.
std::vector<size_t> ordered_by(double (*weight)(const Lifetime&), const std::vector<Lifetime>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weight(values[a]) > weight(values[b]); });
  return order;
}

/// What is alive at the step that has most of it: no arena is smaller.
size_t most_alive(const std::vector<Lifetime>& values) {
  std::vector<std::pair<StepId, int64_t>> changes;
  for (const Lifetime& value : values) {
    const auto bytes = static_cast<int64_t>(align_up(value.bytes));
    changes.emplace_back(value.first, bytes);
    changes.emplace_back(value.last + 1, -bytes);
  }
  // What ends before a step goes before what begins with it.
  std::sort(changes.begin(), changes.end());
  int64_t alive = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, alive += change);
  return static_cast<size_t>(most);
}

}  // namespace

Placement place(const std::vector<Lifetime>& values) {
  constexpr int kRounds = 4;  // one of the orders then comes to the least in all of models/ but AlexNet
  const size_t least = most_alive(values);
  Placement best;
  for (const auto& weight : {bytes_of, steps_of, area_of}) {
    std::vector<size_t> order = ordered_by(weight, values);
    for (int round = 0; round < kRounds; ++round) {
      Placement placement = place_in(order, values);
      std::stable_partition(order.begin(), order.end(),
                            [&](size_t v) { return placement.offsets[v] + align_up(values[v].bytes) > least; });
      if (best.offsets.empty() || placement.bytes < best.bytes) best = std::move(placement);
      if (best.bytes == least) return best;
    }
  }
  return best;
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
