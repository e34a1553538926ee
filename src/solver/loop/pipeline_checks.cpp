// Each refusal names what asks for it, so that it can be left out.
#include "solver/loop/pipeline_checks.h"

#include <algorithm>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

void refuse_setting(const SolverDef& solver, const char* field, const std::string& why) {
  throw Error(ErrorKind::kUnsupported, str(field, " in a pipeline: ", why),
              str("leave ", field, " out, or train on one GPU"))
      .at(solver.where(field));
}

void refuse_flag(const std::string& flag, const std::string& why) {
  throw Error(ErrorKind::kUnsupported, str(flag, " in a pipeline: ", why),
              str("leave ", flag, " out, or train on one GPU"));
}

void check_settings(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  if (p.debug_info()) refuse_setting(solver, "debug_info", "no device has the values of all layers");
  if (p.eval_type() == "detection")
    refuse_setting(solver, "eval_type", "detections are scored where the whole test net is");
}

void check_flags(const SolverOptions& options) {
  const bool moves = std::ranges::any_of(options.pipeline.stages, [](const StageDevice& stage) {
    return stage.memory.lms.mode != LmsOptions::Mode::kOff;
  });
  if (moves) refuse_flag("-lms", "activations of several micro-batches are on the device at once, and none moves");
  if (!options.timeline.file.empty()) refuse_flag("-timeline", "steps of stages are not recorded");
  if (options.tensorboard.histograms > 0)
    refuse_flag("-tensorboard_histograms", "no device has the gradients of all layers");
}

}  // namespace

void check_pipeline(const SolverDef& solver, const SolverOptions& options) {
  if (options.micro_batches < 1) {
    throw Error(ErrorKind::kUsage, str("-micro_batches ", options.micro_batches, " is no number of micro-batches"),
                "give 1 or more");
  }
  if (options.pipeline.stages.empty()) return;
  if (options.ranks && !options.ranks->alone()) {
    throw Error(ErrorKind::kUnsupported, "a pipeline and several ranks", "train by one process, or without `device`");
  }
  check_settings(solver);
  check_flags(options);
}

}  // namespace robusta
