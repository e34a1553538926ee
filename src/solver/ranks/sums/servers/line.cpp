// A communicator is driven by one thread, and a server has a thread for each group: hence one for each.
#include "solver/ranks/sums/servers/line.h"

namespace robusta {

std::vector<std::unique_ptr<Communicator>> open_lines(Communicator& world, int groups, int servers) {
  const int workers = world.size() - servers, per_group = workers / groups, me = world.rank();
  std::vector<std::unique_ptr<Communicator>> lines;
  for (int group = 0; group < groups; ++group) {
    const bool takes_part = me >= workers || me == group * per_group;
    std::unique_ptr<Communicator> line = world.split(takes_part ? 0 : 1, me);
    if (takes_part) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace robusta
