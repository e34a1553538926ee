// Ranks in threads need no launcher: signals come to one process, an error of one rank ends the others (learners.h),
// and sums are made in memory that all of them see.

#include "app/setup/socket_ranks.h"

#include <omp.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include "base/counted.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/affinity/numa.h"
#include "comm/launch.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr int kMostRanks = 256;

/// 0: auto.
int ranks_wanted(const std::string& text) {
  if (text == "auto") return 0;
  int ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  if (error == std::errc{} && end == text.data() + text.size() && ranks >= 1 && ranks <= kMostRanks) return ranks;
  throw Error(ErrorKind::kUsage, str("-sockets ", text, " is neither auto nor a number of ranks up to ", kMostRanks),
              "write -sockets auto for a rank on each NUMA node");
}

void refuse_what_contradicts(const Options& options) {
  if (!options.gpu().empty()) {
    throw Error(ErrorKind::kUsage, "-sockets is of ranks on the CPU, and -gpu asks for GPUs", "give one of the two");
  }
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    throw Error(ErrorKind::kUsage,
                "-sockets binds the threads of each rank to its processors, and OMP_PROC_BIND, GOMP_CPU_AFFINITY or "
                "KMP_AFFINITY binds those of all ranks to the same ones",
                "unset these variables");
  }
}

}  // namespace

SocketRanks::SocketRanks(const Options& options) {
  if (options.sockets().empty()) return;
  const int wanted = ranks_wanted(options.sockets());
  if (const Launch launch = own_launch(); launch.ranks > 1) {
    if (launch.rank == 0) {
      LOG_WARNING << "-sockets " << options.sockets() << " changes nothing here: " << launch.launcher << " has started "
                  << launch.ranks << " ranks; mpirun --map-by numa --bind-to numa, or srun --cpu-bind=ldoms, places "
                  << "one on each NUMA node";
    }
    return;
  }
  refuse_what_contradicts(options);
  const std::vector<NumaNode> nodes = numa_nodes(own_cores());
  const int ranks = wanted > 0 ? wanted : static_cast<int>(nodes.size());
  if (ranks > 1) {
    places_ = place_on_nodes(nodes, ranks);
    if (const int cores = own_cores().count(); ranks > cores) {
      LOG_WARNING << ranks << " ranks share " << counted(cores, "processor") << ": in every sum all wait for those "
                  << "that have none just then; -sockets auto asks for a rank on each NUMA node";
    }
  } else {
    LOG_INFO << "-sockets " << options.sockets() << ": one rank on processors " << own_cores().str() << " ("
             << counted(static_cast<int64_t>(nodes.size()), "NUMA node") << ")";
  }
}

void SocketRanks::take_place(const Ranks& ranks) const {
  if (places_.empty()) return;
  const Cores& own = places_[static_cast<size_t>(ranks.rank())];
  pin_to(own);
  if (!std::getenv("OMP_NUM_THREADS")) omp_set_num_threads(own.count());
  if (!ranks.root()) return;
  LOG_INFO << counted(count(), "rank") << " in this process, each with a batch of its own (-batch global divides one):";
  for (size_t rank = 0; rank < places_.size(); ++rank)
    LOG_INFO << "    rank " << rank << "  processors " << places_[rank].str();
}

}  // namespace robusta
