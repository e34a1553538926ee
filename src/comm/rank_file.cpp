// IBM's rule is rank = x*Y*Z + y*Z + z; the text is that of Open MPI's rankfiles.

#include "comm/rank_file.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <fstream>
#include <set>

#include "base/counted.h"
#include "base/str.h"
#include "comm/dims.h"

namespace robusta {
namespace {

/// A host may stand for several groups.
int ranks_on(const std::string& host, const std::vector<int>& dims, const std::vector<std::string>& hosts) {
  return static_cast<int>(std::count(hosts.begin(), hosts.end(), host)) * dims.front();
}

}  // namespace

std::string rank_file(const std::vector<int>& dims, const std::vector<std::string>& hosts, int cores) {
  const int per_host = dims.front(), groups = static_cast<int>(hosts.size());
  std::string text = str("#dims = ", dims_text(dims), "\n#host = ");
  for (int group = 0; group < groups; ++group) text += (group ? "," : "") + hosts[static_cast<size_t>(group)];
  text += "\n";
  for (int group = 0; group < groups; ++group) {
    const std::string& host = hosts[static_cast<size_t>(group)];
    // Further groups on the same host go on where the last one ended.
    const auto before = std::count(hosts.begin(), hosts.begin() + group, host);
    const int share = cores / ranks_on(host, dims, hosts);
    assert(share > 0);
    for (int x = 0; x < per_host; ++x) {
      const int first = (static_cast<int>(before) * per_host + x) * share;
      text += str("rank ", x * groups + group, "=", host, " slot=", first);
      text += share > 1 ? str("-", first + share - 1, "\n") : "\n";
    }
  }
  return text;
}

std::string rank_file_note(const std::vector<int>& dims, const std::vector<std::string>& hosts, int cores) {
  for (const std::string& host : hosts) {
    const int ranks = ranks_on(host, dims, hosts);
    if (ranks > cores) {
      return str("No rank file: ", host, " has ", counted(ranks, "rank"), " and only ", counted(cores, "core"),
                 ", so some would get the same (mpirun --oversubscribe --bind-to none starts them all)");
    }
  }
  return "The rank file that fits:\n" + rank_file(dims, hosts, cores);
}

int count_cores() {
  std::set<std::string> cores;
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (long cpu = 0; cpu < processors; ++cpu) {
    std::ifstream siblings(str("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
    if (std::string threads; siblings >> threads) cores.insert(threads);
  }
  return cores.empty() ? static_cast<int>(std::max(1l, processors)) : static_cast<int>(cores.size());
}

}  // namespace robusta
