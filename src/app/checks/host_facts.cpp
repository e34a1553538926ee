// Facts are gathered once and compared on every rank; warnings name hosts and ranks, and what to change.

#include "app/checks/host_facts.h"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/counted.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "solver/ranks/minority.h"

namespace robusta {
namespace {

bool holds_entries(const std::string& folder) {
  std::error_code none;
  return std::filesystem::directory_iterator(folder, none) != std::filesystem::directory_iterator();
}

}  // namespace

std::string search_path(const std::string& value) {
  std::istringstream folders(value);
  std::vector<std::string> once;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && std::find(once.begin(), once.end(), folder) == once.end()) once.push_back(folder);
  }
  std::string path;
  for (const std::string& folder : once) path += (path.empty() ? "" : ":") + folder;
  return path;
}

HostFacts own_facts(const std::string& infiniband_folder) {
  HostFacts facts;
  facts.cores = own_cores();
  facts.threads = omp_get_max_threads();
  facts.infiniband = holds_entries(infiniband_folder);
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) facts.memlock = limit.rlim_cur;
  for (size_t i = 0; i < std::size(kWatchedVariables); ++i) {
    const char* value = std::getenv(kWatchedVariables[i]);
    facts.variables[i] = value ? hash_bytes(search_path(value)) : 0;
  }
  return facts;
}

std::vector<HostWarning> cores_warnings(const std::vector<HostFacts>& facts, const std::vector<std::string>& hosts) {
  struct Host {
    Cores cores;
    int threads = 0, ranks = 0;
  };
  std::map<std::string, Host> all;
  for (size_t rank = 0; rank < facts.size(); ++rank) {
    Host& host = all[hosts[rank]];
    for (int cpu = 0; cpu < Cores::kMost; ++cpu) {
      if (facts[rank].cores.has(cpu)) host.cores.add(cpu);
    }
    host.threads += facts[rank].threads;
    ++host.ranks;
  }
  std::vector<HostWarning> warnings;
  for (const auto& [name, host] : all) {
    const int cores = host.cores.count();
    if (cores == 0 || host.threads <= cores) continue;
    warnings.push_back(
        {"cores",
         str(name, " has ", counted(cores, "processor"), " (", host.cores.str(), ") for ",
             counted(host.threads, "thread"), " of ", counted(host.ranks, "rank")),
         str("start fewer ranks there", cores < host.ranks ? "" : str(", or set OMP_NUM_THREADS=", cores / host.ranks),
             "; if the launcher bound the ranks to too few, mpirun --bind-to none or --map-by "
             "slot:PE=N gives more")});
  }
  return warnings;
}

std::vector<HostWarning> memlock_warnings(const std::vector<HostFacts>& facts) {
  std::vector<uint64_t> limited;
  uint64_t least = HostFacts::kUnlimited;
  for (const HostFacts& rank : facts) {
    const bool short_of = rank.infiniband && rank.memlock != HostFacts::kUnlimited;
    limited.push_back(short_of);
    if (short_of) least = std::min(least, rank.memlock);
  }
  if (least == HostFacts::kUnlimited) return {};
  const bool all = std::find(limited.begin(), limited.end(), 0) == limited.end();
  // minority() names those that differ from rank 0's majority; here 0 is usual.
  std::string who = all ? "all ranks" : "";
  if (!all) {
    limited.insert(limited.end(), limited.size(), 0);
    who = minority(limited);
  }
  return {{"locked memory",
           str("an InfiniBand device is there, but ", who, " may lock only ", least / 1024,
               " KiB of memory: RDMA fails or is not used"),
           "memlock unlimited in /etc/security/limits.conf and a new login; for daemons of a batch system "
           "LimitMEMLOCK=infinity in their service file"}};
}

std::vector<HostWarning> variable_warnings(const std::vector<HostFacts>& facts) {
  std::vector<HostWarning> warnings;
  for (size_t i = 0; i < std::size(kWatchedVariables); ++i) {
    std::vector<uint64_t> values;
    for (const HostFacts& rank : facts) values.push_back(rank.variables[i]);
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) continue;
    const std::string name = kWatchedVariables[i];
    warnings.push_back({"environment", name + " of " + minority(values) + " is not that of the other ranks",
                        "hand it on: mpirun -x " + name + " (ddlrun does so by itself)"});
  }
  return warnings;
}

std::vector<HostWarning> grant_warnings(const Grant& grant, int ranks) {
  if (grant.ranks <= ranks) return {};
  return {{"batch system", str(grant.words, ", but ", counted(ranks, "rank"), ranks == 1 ? " trains" : " train"),
           str("start all with ddlrun or mpirun -n ", grant.ranks, ", unless a smaller job is meant")}};
}

Grant own_grant() {
  return find_grant([](const char* name) -> const char* { return std::getenv(name); });
}

void warn_of_hosts(Ranks& ranks) {
  std::vector<HostFacts> facts;
  if (!ranks.alone()) facts = ranks.gather(own_facts());
  if (!ranks.root()) return;
  std::vector<HostWarning> all = grant_warnings(own_grant(), ranks.count());
  if (!ranks.alone()) {
    for (const auto& more :
         {cores_warnings(facts, ranks.topology().hosts), memlock_warnings(facts), variable_warnings(facts)}) {
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  for (const HostWarning& warning : all) LOG_WARNING << warning.text << "; " << warning.fix;
}

}  // namespace robusta
