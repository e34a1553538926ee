// Each refusal names what asks for it, so that it can be left out.
#include "solver/loop/pipeline_checks.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"
#include "solver/files/net_defs.h"
#include "solver/pipeline/placement.h"
#include "solver/ranks/model/model_cuts.h"

namespace robusta {
namespace {

void refuse_setting(const SolverDef& solver, const char* field, const std::string& why) {
  throw Error(ErrorKind::kUnsupported, str(field, " in a pipeline: ", why),
              str("leave ", field, " out, or `device` of the layers"))
      .at(solver.where(field));
}

void refuse_flag(const std::string& flag, const std::string& why) {
  throw Error(ErrorKind::kUnsupported, str(flag, " in a pipeline: ", why),
              str("leave ", flag, " out, or `device` of the layers"));
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

/// The first layer that names a device: it asks for stages.
Error asked_by(const NetDef& net, ErrorKind kind, const std::string& cause, const std::string& fix) {
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.param.layer(i);
    if (layer.has_device()) return Error(kind, cause, fix).in_layer(layer.name()).at(net.source_of(i).where("device"));
  }
  return Error(kind, cause, fix).at(net.file);
}

/// What several ranks cannot do beside. "": nothing of it is asked for.
std::string beside_stages(const DdlOptions& options) {
  return options.shard != Shard::kNone            ? "-shard"
         : has_local_steps(options)               ? "-sync_every"
         : options.op == GradientOp::kAdasum      ? "-op adasum"
         : options.elastic.asked()                ? "-elastic"
         : options.served.servers > 0             ? "-servers"
         : options.wire.keeps_left()              ? "-compress int8 or topk"
         : options.fit.asked                      ? "-fit"
         : options.mode == ReduceMode::kAutomatic ? "auto"
         : !options.dims.empty()                  ? "-mode with dims"
                                                  : "";
}

void check_stages(const SolverDef& solver, const NetDef& net, const SolverOptions& options, int stages) {
  const int ranks = options.ranks->count();
  const auto refuse = [&](ErrorKind kind, const std::string& cause, const std::string& fix) {
    throw asked_by(net, kind, cause, fix);
  };
  if (!options.device->is_host()) {
    refuse(ErrorKind::kUnsupported,
           "`device` of layers, with ranks that have GPUs: ranks have stages on the host alone",
           "start one process with a list of GPUs, such as -gpu 0,1, leave -gpu out, or remove `device` from the net");
  }
  if (const std::string beside = beside_stages(options.ranks->options()); !beside.empty()) {
    refuse(ErrorKind::kUnsupported, str("`device` of layers with -ddl \"", beside, "\": a rank has one stage alone"),
           str("leave ", beside, " out, or remove `device` from the net"));
  }
  if (ranks % stages != 0) {
    refuse(ErrorKind::kConfig,
           str("layers name devices up to ", stages - 1, ", which makes ", stages, " stages, and ", ranks,
               " ranks train: each has one stage of a pipeline"),
           str("start a multiple of ", stages, " ranks"));
  }
  if (!model_cuts(net, ranks).empty()) {
    refuse(ErrorKind::kUnsupported, "`device` of layers, and model_parts: a rank has whole layers of its stage",
           "leave one of both out");
  }
  check_settings(solver);
  check_flags(options);
}

}  // namespace

int stages_over_ranks(const SolverDef& solver, const SolverOptions& options) {
  if (!options.ranks || options.ranks->alone() || !options.pipeline.stages.empty()) return 1;
  const QuietLog quiet;  // who builds the net says it all
  const NetDef net = train_net_of(solver).definition();
  const int stages = stages_named(net.param);
  if (stages <= 1) return 1;
  check_stages(solver, net, options, stages);
  return stages;
}

void check_pipeline(const SolverDef& solver, const SolverOptions& options) {
  if (options.micro_batches < 1) {
    throw Error(ErrorKind::kUsage, str("-micro_batches ", options.micro_batches, " is no number of micro-batches"),
                "give 1 or more");
  }
  if (options.pipeline.stages.empty()) return;
  if (options.ranks && !options.ranks->alone()) {
    throw Error(ErrorKind::kUnsupported, "a pipeline over GPUs, and several ranks",
                "train by one process, or without `device`");
  }
  check_settings(solver);
  check_flags(options);
}

}  // namespace robusta
