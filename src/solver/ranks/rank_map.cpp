// Processors are dealt out before OpenMP starts its threads, since those inherit what their creator may run on.
#include "solver/ranks/rank_map.h"

#include <omp.h>

#include <cstdlib>
#include <vector>

#include "base/counted.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/affinity/cores.h"
#include "comm/affinity/omp_environment.h"

namespace robusta {
namespace {

constexpr int kMostLines = 64;

/// Fixed in size, to be gathered.
struct Place {
  Cores given, cores;
  int local_rank = 0, local_ranks = 0, threads = 0;
};

/// Which of the ranks of this host that may use the same processors this one is, and how many there are.
std::pair<int, int> among_sharers(const std::vector<Place>& places, const Ranks& ranks) {
  const Topology& topology = ranks.topology();
  const auto me = static_cast<size_t>(ranks.rank());
  int position = 0, sharers = 0;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    if (topology.hosts[rank] != topology.hosts[me] || !(places[rank].given == places[me].given)) continue;
    if (rank < me) ++position;
    ++sharers;
  }
  return {position, sharers};
}

/// Where ranks share what is enough for each of them, it is their sum that is too large: warn_of_hosts() tells that.
void warn(const Place& place, const std::string& label) {
  const int processors = place.given.count();
  if (processors == 0 || place.threads <= processors) return;
  LOG_WARNING << label << "  " << counted(place.threads, "thread") << " on " << counted(processors, "processor") << " ("
              << place.given.str() << "): the rank was given too few for OMP_NUM_THREADS; mpirun --bind-to none, "
              << "or --map-by slot:PE=" << place.threads << ", or srun --cpus-per-task=" << place.threads
              << " gives it more, OMP_NUM_THREADS=" << processors << " takes less";
}

/// What this process was given before it took a share of it.
const Cores& given_cores() {
  static const Cores given = own_cores();
  return given;
}

/// This rank's share of what it and others were given together, taken. Where ranks come and go it is another one each
/// time, and OpenMP has threads already.
void take_share(const Ranks& ranks, const std::vector<Place>& places, Place& mine) {
  const auto [position, sharers] = among_sharers(places, ranks);
  if (sharers <= 1 && mine.cores == mine.given) return;
  mine.cores = share_of(mine.given, position, sharers);
  pin_to(mine.cores);
  if (!std::getenv("OMP_NUM_THREADS")) mine.threads = std::max(1, mine.cores.count());
  omp_set_num_threads(mine.threads);
  if (ranks.elastic()) {
#pragma omp parallel
    pin_to(mine.cores);
  }
}

/// In the words of IBM's Caffe, where "root = 1" says that the rank has a solver of its own.
void log_places(const Ranks& ranks, const std::vector<Place>& places) {
  const Topology& topology = ranks.topology();
  LOG_INFO << counted(ranks.count(), "rank") << ", " << topology.describe();
  if (!topology.warning.empty()) LOG_WARNING << topology.warning;
  for (const std::string& note : omp_notes()) LOG_INFO << note;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const Place& place = places[rank];
    if (ranks.count() > kMostLines && place.local_rank > 0) continue;
    char label[32];
    std::snprintf(label, sizeof label, "[MPI:%-4zu]", rank);
    LOG_INFO << label << "  name = " << topology.hosts[rank] << " root = 1, local rank " << place.local_rank << " of "
             << place.local_ranks << ", processors " << place.cores.str() << ", " << counted(place.threads, "thread");
    warn(place, label);
  }
}

Place place_of(const Ranks& ranks) {
  const Topology& topology = ranks.topology();
  return {.given = given_cores(),
          .cores = own_cores(),
          .local_rank = topology.local_rank,
          .local_ranks = topology.local_ranks,
          .threads = omp_get_max_threads()};
}

}  // namespace

void share_cores(Ranks& ranks) {
  Place mine = place_of(ranks);
  take_share(ranks, ranks.gather(mine), mine);
}

void assign_cores(Ranks& ranks) {
  Place mine = place_of(ranks);
  // Gathered twice: what each was given says how to share, and what each has taken is what the log shows. Where there
  // are several sets of ranks, all of them have shared already.
  if (ranks.options().sets.empty()) take_share(ranks, ranks.gather(mine), mine);
  const std::vector<Place> places = ranks.gather(mine);
  if (ranks.root()) log_places(ranks, places);
}

}  // namespace robusta
