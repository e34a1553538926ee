// Times of messages and sums, as in the benchmarks of MPI: barriers align the ranks, and the best of a few calls
// counts. A ring all-reduce sends and receives 2(n-1)/n of the data per rank (Patarasuk and Yuan 2009), which gives the
// speed.

#include "app/checks/fabric.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/str.h"
#include "comm/all_reduce.h"

namespace robusta {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// from what latency decides to what bandwidth does
constexpr size_t kSizes[] = {size_t{64} << 10, size_t{1} << 20, size_t{16} << 20};
constexpr double kBudget = 2;  // seconds for one size, as far as the size before lets foretell

/// The best of a few sums, as this rank sees it.
double best_sum(Communicator& group, AllReduce& all_reduce, SharedMemory& memory, size_t bytes) {
  constexpr int kTries = 4;  // the best one counts: whatever disturbs a sum makes it slower
  double best = 1e30, spent = 0;
  for (int i = 0; i < kTries; ++i) {
    group.barrier();
    const auto start = Clock::now();
    all_reduce.sum(memory.data(), static_cast<int64_t>(bytes / sizeof(float)), DType::kF32);
    const double seconds = since(start);
    spent += seconds;
    best = std::min(best, seconds);
    // All of the group go on, or none does.
    double enough = spent > kBudget ? 1 : 0;
    group.all_reduce(&enough, 1, DType::kF64);
    if (enough > 0) break;
  }
  return best;
}

FabricSpeed compare(Ranks& ranks, size_t bytes, double mine) {
  const std::vector<double> all = ranks.gather(mine);
  const auto slowest = std::max_element(all.begin(), all.end());
  return {static_cast<double>(bytes), *std::min_element(all.begin(), all.end()), *slowest,
          static_cast<int>(slowest - all.begin())};
}

FabricDimension measure(Ranks& ranks, const Dimension& dimension) {
  FabricDimension result{dimension.name, static_cast<int>(dimension.ranks.size()), dimension.one_host, {}};
  const std::unique_ptr<Communicator> group = ranks.control().split(dimension.ranks.front(), ranks.rank());
  const size_t largest = *std::max_element(std::begin(kSizes), std::end(kSizes));
  const std::shared_ptr<SharedMemory> memory = group->allocate(largest);
  std::memset(memory->data(), 0, largest);  // pages that were never written are all the same one
  const auto all_reduce = make_all_reduce(*group, find_topology(*group, {}), {}, memory, largest);
  for (const size_t bytes : kSizes) {
    if (!result.speeds.empty()) {
      const FabricSpeed& last = result.speeds.back();
      if (last.slowest * static_cast<double>(bytes) / last.bytes > kBudget) break;
    }
    result.speeds.push_back(compare(ranks, bytes, best_sum(*group, *all_reduce, *memory, bytes)));
  }
  return result;
}

std::string format(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace

std::string check_reachability(Ranks& ranks) {
  constexpr size_t kBytes = 4096;
  const int count = ranks.count();
  std::vector<char> out(kBytes), in(kBytes);
  double slowest = 0;
  int peers = 0;
  for (int apart = 1; apart < count; apart *= 2) {
    const int to = (ranks.rank() + apart) % count, from = (ranks.rank() + count - apart) % count;
    ranks.control().exchange(out.data(), kBytes, to, in.data(), kBytes, from);  // the first opens the connection
    ranks.barrier();
    const auto start = Clock::now();
    ranks.control().exchange(out.data(), kBytes, to, in.data(), kBytes, from);
    slowest = std::max(slowest, since(start));
    ++peers;
  }
  const std::vector<double> all = ranks.gather(slowest);
  const auto worst = std::max_element(all.begin(), all.end());
  const auto rank = static_cast<size_t>(worst - all.begin());
  return str("each rank reaches ", peers, peers == 1 ? " other" : " others", "; the slowest exchange of 4 KB takes ",
             format("%.3g ms", 1e3 * *worst), " at rank ", rank, " on ", ranks.topology().hosts[rank]);
}

std::vector<FabricDimension> measure_fabric(Ranks& ranks) {
  std::vector<FabricDimension> all;
  for (const Dimension& dimension : ranks.topology().dimensions) all.push_back(measure(ranks, dimension));
  return all;
}

std::string describe(const FabricDimension& dimension) {
  std::string text;
  for (const FabricSpeed& speed : dimension.speeds) {
    const double kb = speed.bytes / 1024;
    text += (text.empty() ? "" : ", ") + (kb < 1024 ? format("%.0f KB ", kb) : format("%.0f MB ", kb / 1024)) +
            format("%.3g ms", 1e3 * speed.slowest);
  }
  if (dimension.speeds.empty()) return text;
  return text + format(" = %.3g GB/s", dimension.speeds.back().gb_per_second(dimension.members));
}

}  // namespace robusta
