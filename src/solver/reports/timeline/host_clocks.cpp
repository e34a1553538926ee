// Cristian 1989, "Probabilistic clock synchronization": the answer with the shortest round trip counts, and the remote
// clock is taken to have been read in its middle.
#include "solver/reports/timeline/host_clocks.h"

#include <algorithm>
#include <limits>

namespace robusta {
namespace {

constexpr int kQuestions = 12;  // the first ones also open connections

int64_t ask(Communicator& control, int rank, const std::function<int64_t()>& now) {
  int64_t offset = 0, quickest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kQuestions; ++i) {
    int64_t theirs = 0;
    const int64_t sent = now();
    control.exchange(&sent, sizeof sent, rank, &theirs, sizeof theirs, rank);
    const int64_t received = now();
    if (received - sent >= quickest) continue;
    quickest = received - sent;
    offset = sent + quickest / 2 - theirs;
  }
  return offset;
}

void answer(Communicator& control, const std::function<int64_t()>& now) {
  for (int i = 0; i < kQuestions; ++i) {
    int64_t question = 0;
    control.exchange(nullptr, 0, -1, &question, sizeof question, 0);
    const int64_t mine = now();
    control.exchange(&mine, sizeof mine, 0, nullptr, 0, -1);
  }
}

}  // namespace

int64_t clock_offset(Ranks& ranks, const std::function<int64_t()>& now) {
  if (ranks.alone()) return 0;
  const std::vector<std::string>& hosts = ranks.topology().hosts;
  const auto speaker = [&](size_t rank) {
    return static_cast<size_t>(std::find(hosts.begin(), hosts.end(), hosts[rank]) - hosts.begin());
  };
  std::vector<int64_t> offsets(hosts.size(), 0);
  for (size_t rank = 1; rank < hosts.size(); ++rank) {
    if (speaker(rank) != rank) {
      offsets[rank] = offsets[speaker(rank)];
    } else if (ranks.root()) {
      offsets[rank] = ask(ranks.control(), static_cast<int>(rank), now);
    } else if (ranks.rank() == static_cast<int>(rank)) {
      answer(ranks.control(), now);
    }
  }
  ranks.broadcast(offsets.data(), offsets.size() * sizeof(int64_t));
  return offsets[static_cast<size_t>(ranks.rank())];
}

}  // namespace robusta
