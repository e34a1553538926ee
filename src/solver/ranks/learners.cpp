// Learners are ranks in threads: the same code as over processes, with a communicator that shares memory.
#include "solver/ranks/learners.h"

#include <memory>

#include "base/log.h"
#include "comm/thread_ranks.h"

namespace robusta {

int run_learners(int learners, const DdlOptions& options, const std::function<int(Ranks&)>& body) {
  int code = 0;
  run_thread_ranks(learners, [&](Communicator& world) {
    const auto quiet = world.rank() > 0 ? std::make_unique<QuietLog>() : nullptr;
    try {
      Ranks ranks(world, options);
      const int own = body(ranks);
      if (ranks.root()) code = own;
    } catch (const EndedByPeer&) {
      // The learner whose error it was throws it.
    }
  });
  return code;
}

}  // namespace robusta
