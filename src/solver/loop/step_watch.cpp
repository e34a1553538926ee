// A step's name is made on the stack: this is called for every step of every pass.
#include "solver/loop/step_watch.h"

#include <cstdio>

namespace robusta {
namespace {

void tell(Ranks& ranks, const std::string& layer, bool backward) {
  char what[64];
  const char* const pass = backward ? "backward" : "forward";
  if (ranks.staged()) {
    std::snprintf(what, sizeof what, "stage %d, %s of layer %s", ranks.stage(), pass, layer.c_str());
  } else {
    std::snprintf(what, sizeof what, "%s of layer %s", pass, layer.c_str());
  }
  ranks.doing(what);
}

}  // namespace

void tell_ranks(Ranks& ranks, const std::vector<Net*>& nets) {
  if (ranks.alone()) return;
  const auto watch = [&ranks](const std::string& layer, bool backward) { tell(ranks, layer, backward); };
  for (Net* const net : nets) net->diagnostics().set_step_watch(watch, false);
}

void record_steps(Training& training) {
  training.net.diagnostics().set_step_watch(
      [&ranks = training.ranks, recorder = training.recorder](const std::string& layer, bool backward) {
        recorder->begin_step(layer, backward);
        if (!ranks.alone()) tell(ranks, layer, backward);
      });
}

}  // namespace robusta
