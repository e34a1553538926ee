// Times our sums over ranks beside the library's own: alternated calls, the best of each.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "comm/all_reduce.h"
#include "comm/world.h"
#include "run_tool.h"

namespace robusta {
namespace {

struct Flags : FlagSet {
  Flag<std::string> ddl{this, "ddl", "", "options of -ddl for our side"};
  Flag<std::string> kilobytes{this, "kilobytes", "4,16,64,256,1024,4096,16384,65536", "sizes of the data in KB"};
  Flag<double> seconds{this, "seconds", 1.0, "time for each size, about; every size is tried at least thrice"};
  Flag<double> link_mbit{this, "link_mbit", 0,
                         "rate of a host's link: also prints the share of the bound 2(H-1)/H x bytes / rate"};
  Flag<bool> library{this, "library", true, "race the library's own sum; without it only ours is timed"};
  Flag<std::string> label{this, "label", "library", "what to call the library's side"};
};

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Of `calls` calls the best one, each as long as it took the slowest rank. Every rank writes its data anew before, as
/// a backward pass does: else the caches would still hold it where the last call left it.
template <typename Call>
double best_call(Communicator& world, int calls, SharedMemory& memory, size_t bytes, const Call& call) {
  std::vector<double> mine;
  for (int i = 0; i < calls; ++i) {
    std::memset(memory.data(), 0, bytes);
    world.barrier();
    const auto start = Clock::now();
    call();
    mine.push_back(since(start));
  }
  const size_t ranks = static_cast<size_t>(world.size()), count = mine.size();
  std::vector<double> all(count * ranks);
  world.all_gather(mine.data(), count * sizeof(double), all.data());
  double best = 1e30;
  for (size_t i = 0; i < count; ++i) {
    double slowest = 0;
    for (size_t rank = 0; rank < ranks; ++rank) slowest = std::max(slowest, all[rank * count + i]);
    best = std::min(best, slowest);
  }
  return best;
}

struct Best {
  double ours = 1e30, library = 1e30;
};

/// Turn about, a few calls each, so that both see the same minutes.
template <typename Ours, typename Library>
Best race(const Flags& flags, const Ours& ours, const Library& library) {
  Best best;
  const int sides = flags.library() ? 2 : 1;
  const double longer = std::max(ours(2), flags.library() ? library(2) : 0);
  const int calls = std::clamp(static_cast<int>(0.01 / longer), 1, 1000);
  const int rounds = static_cast<int>(std::clamp(flags.seconds() / (sides * longer * calls), 3.0, 200.0));
  for (int round = 0; round < rounds; ++round) {
    best.ours = std::min(best.ours, ours(calls));
    if (flags.library()) best.library = std::min(best.library, library(calls));
  }
  return best;
}

void print_row(const Flags& flags, size_t bytes, const Best& best, size_t hosts) {
  std::printf("%8zu KB  ours %10.1f us", bytes / 1024, best.ours * 1e6);
  if (flags.library()) {
    std::printf("  %s %10.1f us  ratio %5.2f", flags.label().c_str(), best.library * 1e6, best.library / best.ours);
  }
  if (flags.link_mbit() > 0 && hosts > 1) {
    const double h = static_cast<double>(hosts);
    const double bound = 2 * (h - 1) / h * static_cast<double>(bytes) * 8 / (flags.link_mbit() * 1e6);
    std::printf("  of the bound %3.0f %%", 100 * bound / best.ours);
    if (flags.library()) std::printf("  (%s %3.0f %%)", flags.label().c_str(), 100 * bound / best.library);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Bytes of "4,16". Throws Error{kUsage} where one of them is no number of kilobytes.
std::vector<size_t> sizes_of(const std::string& kilobytes) {
  constexpr size_t kMost = size_t{1} << 40;  // bytes
  std::vector<size_t> sizes;
  std::istringstream words(kilobytes + ",");
  for (std::string word; std::getline(words, word, ',');) {
    size_t size = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc{} || stop != word.data() + word.size() || size < 1 || size > kMost / 1024) {
      throw Error(ErrorKind::kUsage, "-kilobytes " + kilobytes + ": \"" + word + "\" is no size",
                  "give numbers above 0, such as 4,1024");
    }
    sizes.push_back(size * 1024);
  }
  return sizes;
}

void run(const Flags& flags, Communicator& world) {
  const std::vector<size_t> sizes = sizes_of(flags.kilobytes());
  if (!(flags.seconds() >= 0)) throw Error(ErrorKind::kUsage, "-seconds is below 0", "give 1, say");
  const size_t largest = *std::max_element(sizes.begin(), sizes.end());
  const DdlOptions options = parse_ddl_options(flags.ddl());
  const Topology topology = find_topology(world, options);
  const std::shared_ptr<SharedMemory> memory = world.allocate(largest);
  const std::shared_ptr<SharedMemory> plain = world.allocate(largest);
  const auto all_reduce = make_all_reduce(world, topology, options, memory, largest);
  std::vector<std::string> hosts = topology.hosts;
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  if (world.rank() == 0) {
    for (const std::string& note : all_reduce->notes()) std::printf("%s\n", note.c_str());
    std::printf("%d ranks on %zu hosts; ours: %s\n", world.size(), hosts.size(), all_reduce->describe().c_str());
  }
  for (const size_t bytes : sizes) {
    const auto count = static_cast<int64_t>(bytes / sizeof(float));
    const Best best = race(
        flags,
        [&](int calls) {
          return best_call(world, calls, *memory, bytes, [&] { all_reduce->sum(memory->data(), count, DType::kF32); });
        },
        [&](int calls) {
          return best_call(world, calls, *plain, bytes, [&] { world.all_reduce(plain->data(), count, DType::kF32); });
        });
    if (world.rank() == 0) print_row(flags, bytes, best, hosts.size());
  }
}

}  // namespace
}  // namespace robusta

int main(int argc, char** argv) {
  const std::string usage =
      "Times sums over ranks beside those of the MPI library. Start it with mpirun.\n"
      "    mpirun -n 4 bench_allreduce [FLAGS]";
  robusta::Flags flags;
  return robusta::run_tool(argc, argv, usage, 0, 0, flags, [&](const std::vector<std::string>&) {
    const std::unique_ptr<robusta::Communicator> world = robusta::join_world();
    robusta::run(flags, *world);
    robusta::leave_world();
  });
}
