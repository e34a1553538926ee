// -model comes before -solver; the phase of a solver's train net is TRAIN.

#include "app/setup/chosen_net.h"

#include <utility>
#include <vector>

#include "base/nearest.h"
#include "robusta/error.h"
#include "schema/read_text.h"
#include "solver/files/ignored.h"
#include "solver/files/net_defs.h"

namespace robusta {
namespace {

caffe::Phase phase_flag(const std::string& text) {
  if (text.empty() || text == "TRAIN") return caffe::TRAIN;
  if (text == "TEST") return caffe::TEST;
  throw Error(ErrorKind::kUsage, "-phase \"" + text + "\"" + did_you_mean(text, {"TRAIN", "TEST"}),
              "known: TRAIN, TEST");
}

/// That of -model, in the phase of -phase, or in its own.
void take_model(const Options& options, ChosenNet& chosen) {
  const std::vector<std::string> stages = stage_flag(options);
  if (!options.phase().empty()) {
    chosen.net = net_in_state(options.model(), chosen.phase, options.level(), stages);
    return;
  }
  NetInPhase own = net_in_its_phase(options.model(), options.level(), stages);
  chosen.net = std::move(own.net);
  chosen.phase = own.phase;
}

}  // namespace

ChosenNet choose_net(const Options& options, const std::string& action) {
  ChosenNet chosen;
  chosen.phase = phase_flag(options.phase());
  chosen.solver.param.set_momentum(0.9f);
  if (!options.solver().empty()) chosen.solver = read_solver(options.solver());
  if (!options.model().empty()) {
    take_model(options, chosen);
    warn_of_ignored_fields_in(options.model());
  } else {
    require_flag(action, "model or -solver", options.solver());
    chosen.phase = caffe::TRAIN;
    chosen.net = train_net_of(chosen.solver).definition();
    warn_of_ignored_fields(chosen.solver, false);
  }
  return chosen;
}

}  // namespace robusta
