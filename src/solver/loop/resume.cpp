// A resumed training goes on as an uninterrupted one would: everything random is a function of seed and position, both
// of which the state has.
#include "solver/loop/resume.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"
#include "solver/pipeline/ranks/gathered_net.h"
#include "solver/ranks/agreement.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/share.h"

namespace robusta {
namespace {

uint64_t draw_seed() {
  uint64_t seed = 0;
  const int fd = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const bool drawn = fd >= 0 && ::read(fd, &seed, sizeof seed) == static_cast<ssize_t>(sizeof seed);
  if (fd >= 0) ::close(fd);
  if (!drawn) throw Error(ErrorKind::kInternal, "cannot read /dev/urandom", "set random_seed in the solver");
  return seed >> 1;  // so that it can be given as random_seed again
}

void check_global_batch(const Snapshot& snapshot, bool accept_batch_change, const Training& training) {
  if (!snapshot.state.has_robusta()) {
    LOG_WARNING << snapshot.path << " holds no position in the data (Caffe wrote it): training goes on from the first "
                << "sample, and not as an uninterrupted run would";
    return;
  }
  const uint64_t before = training.state.global_batch, now = global_batch(training);
  if (before == now || accept_batch_change) return;
  throw Error(ErrorKind::kConfig,
              str("the state was written with ", before, " samples per iteration, this run has ", now, " (",
                  training.ranks.learners(), " ranks x batch ", training.batch(), " x iter_size ",
                  training.param().iter_size(), "): the learning rate and its schedule would no longer fit"),
              "keep the product (-batch global divides batch_size among the ranks), or give -accept_batch_change and "
              "see to base_lr, stepsize and max_iter yourself")
      .at(snapshot.path);
}

}  // namespace

std::shared_ptr<const Snapshot> read_snapshot_to_resume(const SolverDef& def, const SolverOptions& options,
                                                        Ranks& ranks, TrainingState& state) {
  state.losses = LossWindow(def.param.average_loss());
  require_equal(ranks, "the start, from a snapshot or anew,", !resumes(options), "start alike on all ranks");
  if (!resumes(options)) return nullptr;
  auto snapshot = std::make_shared<Snapshot>();
  if (options.from_memory) {
    if (ranks.root()) snapshot = ranks.elastic()->kept.snapshot;
  } else {
    ranks.root_only([&] { *snapshot = read_snapshot(options.snapshot); });
  }
  share_state(ranks, *snapshot);
  state = state_from_proto(snapshot->state, def.param.average_loss());
  // Before the nets are planned: another kernel would add in another order.
  if (options.tuner) options.tuner->preset(state.kernel_choices);
  return snapshot;
}

void choose_seed(const SolverDef& def, bool resuming, Ranks& ranks, TrainingState& state) {
  const int64_t given = def.param.random_seed();
  const bool saved = resuming && state.seed != 0;
  if (given >= 0) {
    if (saved && state.seed != static_cast<uint64_t>(given)) {
      LOG_WARNING << def.where("random_seed") << ": random_seed " << given << " is not that of the state, "
                  << state.seed << ": random crops, masks and order will differ from an uninterrupted run";
    }
    state.seed = static_cast<uint64_t>(given);
  } else if (!saved) {
    state.seed = draw_seed();
    ranks.broadcast_value(state.seed);
    LOG_INFO << "random_seed is not set: drew " << state.seed;
  }
}

uint64_t global_batch(const Training& training) {
  return static_cast<uint64_t>(training.batch() * training.param().iter_size() * training.ranks.learners());
}

namespace {

/// Those of rank 0.
void share_weights(Training& training, GatheredNet* whole) {
  whole ? whole->scatter_weights() : share_parameters(training.ranks, training.net);
}

/// By way of the net, whose own weights come after. `whole`: null where each rank has all of it.
void restore_average(const Snapshot& snapshot, Training& training, GatheredNet* whole) {
  WeightAverage* const average = training.updater.average();
  int has = snapshot.averaged ? 1 : 0;
  training.ranks.broadcast_value(has);
  if (!average) {
    if (has) LOG_INFO << "ema_decay is not set: " << averaged_model(snapshot.model_path) << " is not gone on with";
    return;
  }
  if (!has) {
    LOG_INFO << snapshot.path << " has no averaged weights: the average begins with the weights it has";
    return;
  }
  training.ranks.root_only([&] { restore_averaged_weights(snapshot, training.whole()); });
  share_weights(training, whole);
  average->restart();
}

}  // namespace

void restore(const Snapshot& snapshot, bool accept_batch_change, Training& training) {
  LOG_INFO << "Resuming from " << snapshot.path;
  std::optional<GatheredNet> whole;
  if (training.over_ranks) whole.emplace(training.ranks, training.def, *training.over_ranks, training.updater);
  training.ranks.root_only([&] {
    check_histories(snapshot, whole ? whole->updater() : training.updater);
    check_global_batch(snapshot, accept_batch_change, training);
  });
  restore_average(snapshot, training, whole ? &*whole : nullptr);
  training.ranks.root_only([&] { restore_weights(snapshot, training.whole()); });
  share_weights(training, whole ? &*whole : nullptr);
  LOG_INFO << training.param().type() << "Solver: restoring history";
  whole ? whole->scatter_histories(snapshot) : share_histories(training.ranks, snapshot, training.updater);
}

}  // namespace robusta
