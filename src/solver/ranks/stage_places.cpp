// Hosts come in the order of their first ranks: rank 0, which writes the log and the files, has stage 0.
#include "solver/ranks/stage_places.h"

#include <cassert>
#include <map>

namespace robusta {

StagePlaces::StagePlaces(const std::vector<std::string>& hosts, int stages) : stages_(stages), place_(hosts.size()) {
  assert(stages > 0 && hosts.size() % static_cast<size_t>(stages) == 0);
  std::map<std::string, size_t> number;
  std::vector<std::vector<int>> ranks_of_host;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [host, is_new] = number.emplace(hosts[rank], ranks_of_host.size());
    if (is_new) ranks_of_host.emplace_back();
    ranks_of_host[host->second].push_back(static_cast<int>(rank));
  }
  for (const std::vector<int>& ranks : ranks_of_host) ranks_.insert(ranks_.end(), ranks.begin(), ranks.end());
  for (size_t place = 0; place < ranks_.size(); ++place) {
    place_[static_cast<size_t>(ranks_[place])] = static_cast<int>(place);
  }
}

}  // namespace robusta
