// A second forward pass over the same samples: everything random is a function of their positions, so it meets the same
// numbers.
#include "solver/loop/loss_report.h"

#include <cmath>

#include "base/str.h"
#include "net/non_finite.h"

namespace robusta {
namespace {

std::string first_samples(Net& net, const Pass& pass) {
  constexpr int kMost = 8;
  std::string list;
  for (const std::string& key : net.diagnostics().sample_keys(pass, kMost)) list += (list.empty() ? "" : ", ") + key;
  return list;
}

/// The rate that the iteration would have had; the policy's memory stays as it is.
double rate_now(const Training& training) {
  const TrainingState& state = training.state;
  PolicyState copy = state.policy;
  return training.schedule.rate(state.iter, state.losses.mean(), copy);
}

}  // namespace

Error not_finite_error(const Training& training, double loss, Pass pass) {
  pass.ranks = nullptr;  // the others do not search
  Net& net = training.net;
  // A net whose stages are elsewhere has no values to look at.
  const NonFinite found = training.pipeline ? NonFinite{} : find_non_finite(net, pass);
  const std::string samples = first_samples(net, pass);
  std::string cause = str("the loss is ", std::isnan(loss) ? "nan" : "infinite", " at iteration ", training.state.iter,
                          " (lr ", rate_now(training), ")");
  if (training.ranks.staged()) {
    cause += str(" in the pipeline of rank ", training.ranks.places().rank_of(0, training.ranks.learner()));
  } else if (!training.ranks.alone()) {
    cause += str(" on rank ", training.ranks.rank());
  }
  if (!found.layer.empty()) cause += str(": the first value that is not finite is ", found.what);
  if (!samples.empty()) cause += "; the batch begins with " + samples;
  Error error(ErrorKind::kNumeric, cause,
              "lower base_lr, begin with a warm-up or set clip_gradients, and look at these samples and their labels; "
              "the last snapshot is from before");
  for (const Node& node : net.graph().nodes) {
    if (node.layer->name() == found.layer) error.in_layer(found.layer).at(node.where.where());
  }
  return error;
}

}  // namespace robusta
