#include "app/commands/subject.h"

#include "app/commands/flags.h"
#include "base/nearest.h"
#include "robusta/error.h"
#include "schema/read_text.h"
#include "solver/files/net_defs.h"

namespace robusta {
namespace {

caffe::Phase phase_flag() {
  if (FLAGS_phase.empty() || FLAGS_phase == "TRAIN") return caffe::TRAIN;
  if (FLAGS_phase == "TEST") return caffe::TEST;
  throw Error(ErrorKind::kUsage, "-phase \"" + FLAGS_phase + "\"" + did_you_mean(FLAGS_phase, {"TRAIN", "TEST"}),
              "known: TRAIN, TEST");
}

}  // namespace

Subject subject_from_flags(const std::string& action) {
  Subject subject;
  subject.phase = phase_flag();
  subject.solver.param.set_momentum(0.9f);
  if (!FLAGS_solver.empty()) subject.solver = read_solver(FLAGS_solver);
  if (!FLAGS_model.empty()) {
    subject.net = net_in_state(FLAGS_model, subject.phase, FLAGS_level, stage_flag());
  } else {
    require_flag(action, "model or -solver", FLAGS_solver);
    subject.phase = caffe::TRAIN;
    subject.net = train_net_of(subject.solver).definition();
  }
  return subject;
}

}  // namespace robusta
