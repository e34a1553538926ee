// sysfs has a folder for each node, with a list of its processors (the kernel's
// Documentation/ABI/stable/sysfs-devices-node).
#include "comm/affinity/numa.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace robusta {
namespace {

/// The number that `text` begins with, taken off it; -1: there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

/// Of a list such as "0-3,8,10-11" those that are allowed. What is no list ends it.
Cores allowed_of(std::string_view list, const Cores& allowed) {
  Cores cores;
  while (!list.empty()) {
    const int first = take_number(list);
    int last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_number(list);
    }
    if (first < 0 || last < first) break;
    for (int cpu = first; cpu <= std::min(last, Cores::kMost - 1); ++cpu) {
      if (allowed.has(cpu)) cores.add(cpu);
    }
    if (!list.starts_with(',')) break;
    list.remove_prefix(1);
  }
  return cores;
}

/// The number of a folder "node12"; -1: it is another one.
int node_id(const std::string& name) {
  std::string_view text = name;
  if (!text.starts_with("node")) return -1;
  text.remove_prefix(4);
  const int id = take_number(text);
  return text.empty() ? id : -1;
}

Cores joined(const std::vector<NumaNode>& nodes, size_t begin, size_t end) {
  Cores all;
  for (size_t node = begin; node < end; ++node) {
    for (int cpu = 0; cpu < Cores::kMost; ++cpu) {
      if (nodes[node].cores.has(cpu)) all.add(cpu);
    }
  }
  return all;
}

}  // namespace

std::vector<NumaNode> numa_nodes(const Cores& allowed, const std::string& system) {
  std::vector<NumaNode> nodes;
  std::error_code absent;
  for (std::filesystem::directory_iterator entry(system, absent), end; !absent && entry != end;
       entry.increment(absent)) {
    const int id = node_id(entry->path().filename().string());
    if (id < 0) continue;
    std::string list;
    std::ifstream(entry->path() / "cpulist") >> list;
    const Cores cores = allowed_of(list, allowed);
    if (cores.count() > 0) nodes.push_back({id, cores});
  }
  std::ranges::sort(nodes, {}, &NumaNode::id);
  if (nodes.empty()) nodes.push_back({0, allowed});
  return nodes;
}

std::vector<Cores> place_on_nodes(const std::vector<NumaNode>& nodes, int ranks) {
  const int count = static_cast<int>(nodes.size());
  const auto first_node = [&](int rank) { return rank * count / ranks; };
  std::vector<Cores> places;
  for (int rank = 0; rank < ranks; ++rank) {
    const int node = first_node(rank);
    if (ranks < count) {
      places.push_back(joined(nodes, static_cast<size_t>(node), static_cast<size_t>(first_node(rank + 1))));
      continue;
    }
    int begin = rank, end = rank;
    while (begin > 0 && first_node(begin - 1) == node) --begin;
    while (end < ranks && first_node(end) == node) ++end;
    places.push_back(share_of(nodes[static_cast<size_t>(node)].cores, rank - begin, end - begin));
  }
  return places;
}

}  // namespace robusta
