#include "solver/ranks/rank_map.h"

#include <omp.h>
#include <sched.h>

#include <cstring>
#include <vector>

#include <glog/logging.h>

#include "base/str.h"

namespace robusta {
namespace {

constexpr int kMostLines = 64;

/// Fixed in size, to be gathered.
struct Place {
  int local_rank = 0, local_ranks = 0, processors = 0, threads = 0;
  char list[64] = {};
};

/// "0-3,8": the processors of a set.
std::string list_of(const cpu_set_t& set) {
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    const int first = cpu;
    while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, &set)) ++cpu;
    list += str(list.empty() ? "" : ",", first);
    if (cpu > first) list += str('-', cpu);
  }
  return list;
}

Place own_place(const Topology& topology) {
  Place place{topology.local_rank, topology.local_ranks, 0, omp_get_max_threads(), {}};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return place;
  place.processors = CPU_COUNT(&set);
  std::strncpy(place.list, list_of(set).c_str(), sizeof place.list - 1);
  return place;
}

}  // namespace

void log_rank_map(Ranks& ranks) {
  const std::vector<Place> places = ranks.gather(own_place(ranks.topology()));
  if (!ranks.root()) return;
  const Topology& topology = ranks.topology();
  LOG(INFO) << ranks.count() << " ranks, " << topology.describe();
  if (!topology.warning.empty()) LOG(WARNING) << topology.warning;
  const bool all = ranks.count() <= kMostLines;
  for (int rank = 0; rank < ranks.count(); ++rank) {
    const Place& place = places[static_cast<size_t>(rank)];
    if (!all && place.local_rank > 0) continue;
    char label[32];
    std::snprintf(label, sizeof label, "[MPI:%-4d]", rank);
    LOG(INFO) << label << "  name = " << topology.hosts[static_cast<size_t>(rank)] << ", local rank "
              << place.local_rank << " of " << place.local_ranks << ", processors " << place.list << ", "
              << place.threads << " threads";
    if (place.processors > 0 && place.threads > place.processors) {
      LOG(WARNING) << label << "  " << place.threads << " threads on " << place.processors
                   << " processors: the launcher bound the rank to too few; mpirun --bind-to none, or --map-by "
                   << "slot:PE=" << place.threads << ", mends it, or set OMP_NUM_THREADS=" << place.processors;
    }
  }
}

}  // namespace robusta
