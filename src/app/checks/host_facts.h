/// What the hosts of a job give its ranks, and what of it would make training slow or fail later on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/affinity/cores.h"
#include "comm/launch.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// Variables that decide which program runs and how; ranks on other hosts have those of their shells.
inline constexpr const char* kWatchedVariables[] = {"PATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"};

/// Of one rank. Fixed in size, to be gathered.
struct HostFacts {
  static constexpr uint64_t kUnlimited = ~uint64_t{0};
  Cores cores;
  int threads = 1;
  bool infiniband = false;                                ///< the host has a device
  uint64_t memlock = kUnlimited;                          ///< bytes this process may lock
  uint64_t variables[std::size(kWatchedVariables)] = {};  ///< hashes
};

/// The folders of a search path, each once. Open MPI puts its own in front, once for each daemon on the way to a rank:
/// such paths find the same.
std::string search_path(const std::string& value);

HostFacts own_facts(const std::string& infiniband_folder = "/sys/class/infiniband");

struct HostWarning {
  std::string topic, text, fix;
};

/// `facts` and `hosts`: of all ranks.
std::vector<HostWarning> cores_warnings(const std::vector<HostFacts>& facts, const std::vector<std::string>& hosts);
std::vector<HostWarning> memlock_warnings(const std::vector<HostFacts>& facts);
std::vector<HostWarning> variable_warnings(const std::vector<HostFacts>& facts);

/// `ranks` run where `grant` has room for more.
std::vector<HostWarning> grant_warnings(const Grant& grant, int ranks);

/// The grant of this process's environment.
Grant own_grant();

/// For the start of a training: rank 0 logs the warnings of all kinds. Collective; alone only the grant is looked at.
void warn_of_hosts(Ranks& ranks);

}  // namespace robusta
