// One part after the other, so that rank 0 needs no more than the whole array.
#include "solver/ranks/sums/parts.h"

#include <algorithm>

namespace robusta {

std::vector<float> whole_of_parts(Ranks& ranks, const Param& param, const ElementRange& part,
                                  const std::vector<float>& own) {
  const std::vector<ElementRange> of_rank = ranks.gather(part);
  const Ranks::Waiting waiting(ranks);
  Communicator& control = ranks.control();
  if (!ranks.root()) {
    if (!own.empty()) control.exchange(own.data(), own.size() * sizeof(float), 0, nullptr, 0, -1);
    return {};
  }
  std::vector<float> all(static_cast<size_t>(param.desc.count()));
  std::copy(own.begin(), own.end(), all.begin() + of_rank[0].begin);
  for (int rank = 1; rank < ranks.count(); ++rank) {
    const ElementRange theirs = of_rank[static_cast<size_t>(rank)];
    if (theirs.empty()) continue;
    control.exchange(nullptr, 0, -1, all.data() + theirs.begin, static_cast<size_t>(theirs.count()) * sizeof(float),
                     rank);
  }
  return all;
}

}  // namespace robusta
