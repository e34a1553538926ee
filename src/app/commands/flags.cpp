#include "app/commands/flags.h"

#include <algorithm>
#include <iterator>

#include <gflags/gflags.h>
#include "base/log.h"

#include "base/str.h"
#include "comm/launch.h"
#include "robusta/error.h"
#include "solver/files/weights.h"

// Caffe's.
DEFINE_string(solver, "", "solver prototxt (train, check, time)");
DEFINE_string(model, "", "net prototxt (test, time)");
DEFINE_string(phase, "", "TRAIN or TEST (time; TRAIN unless given)");
DEFINE_int32(level, 0, "level of the net's state");
DEFINE_string(stage, "", "stages of the net's state, separated by commas");
DEFINE_string(snapshot, "", "a .solverstate to resume from; auto: the newest whole one of the prefix, if any");
DEFINE_string(weights, "", "weights to begin with, separated by commas (test: one file)");
DEFINE_int32(iterations, 50, "batches to run (test, time)");
DEFINE_string(sigint_effect, "stop", "what SIGINT does while training: snapshot, stop or none");
DEFINE_string(sighup_effect, "snapshot", "what SIGHUP does while training: snapshot, stop or none");
DEFINE_string(gpu, "", "device ids separated by commas, or all");

// Intel's.
DEFINE_bool(forward_only, false, "leave backward out (time)");
DEFINE_string(engine, "", "changes nothing: kernels are chosen by -kernels");
DEFINE_string(collect_dir, "collect_out", "folder of the action collect");
DEFINE_string(compare_output_dir, "compare_out", "folder of the action compare");
DEFINE_double(epsilon, 1e-3, "tolerance of the action compare");
DEFINE_bool(fast_compare, false, "compare: leave a layer after fast_compare_max errors");
DEFINE_int32(fast_compare_max, 50, "see -fast_compare");
DEFINE_string(buffer_filler, "NaN", "what fills the buffers of compare");
DEFINE_bool(detection, false, "test: log the mAP of detections");
DEFINE_bool(sampling, false, "test: build and load the net, then leave");
DEFINE_int32(n_group, 1, "groups in asynchronous training");
DEFINE_int32(n_server, 0, "parameter servers in asynchronous training");

// NVIDIA's.
DEFINE_string(ap_version, "11point", "test_detection: 11point, MaxIntegral or Integral");
DEFINE_bool(show_per_class_result, true, "test_detection: the AP of each class too");

// IBM's.
DEFINE_string(ddl, "", "topology and options of training on several hosts");
DEFINE_bool(bvlc, false, "changes nothing: accepted for IBM's command lines");
DEFINE_int32(threshold, 0, "changes nothing: accepted for IBM's command lines");
DEFINE_string(
    lms, "",
    "large model support: alone or auto moves to the host what the GPU has no room for; a size in KB moves all "
    "values from that on");
DEFINE_double(lms_frac, 0, "share of the GPU's memory that is filled before large model support moves anything");

// Robusta's.
DEFINE_string(gpu_memory, "", "memory of the GPU that may be used, such as 16G (default: what is free)");
DEFINE_double(link_gbs, 0, "GB per second between host and GPU, each way, to predict by; 0: a usual value");
DEFINE_bool(share_gpu, false, "let ranks of one host use the same GPU");
DEFINE_bool(share_memory, true,
            "let values that are not alive at the same time share memory; the results are the same");
DEFINE_bool(autotune, true, "time kernels when planning and take the fastest");
DEFINE_bool(deterministic, false, "the same bits on every run: implies -autotune=false");
DEFINE_bool(cuda_graphs, true, "launch the steps of a pass on a GPU as recorded graphs");
DEFINE_bool(tf32, true, "round the factors of products to 10 bits of mantissa where a GPU is faster so");
DEFINE_string(precision, "",
              "how a GPU stores activations: f32, bf16 or fp16 (default: as forward_type and its like in the net say)");
DEFINE_string(batch, "",
              "samples per batch, instead of that of every data layer; global: training divides them by the ranks");
DEFINE_bool(accept_batch_change, false, "resume with another number of samples per iteration");
DEFINE_string(lr_scaling, "none", "base_lr times the ranks (linear), their root (sqrt), or none");
DEFINE_string(kernels, "auto", "backend of the kernels: auto, reference, ...");
DEFINE_string(tune_cache, "", "file of timed kernel choices (default: robusta/kernels in $XDG_CACHE_HOME or ~/.cache)");
DEFINE_string(memory, "", "plan: the memory that the largest batch has to fit in, such as 16G (default: what is free)");
DEFINE_string(max_walltime, "", "seconds or HH:MM:SS after which training has stopped with a snapshot");
DEFINE_string(log_json, "", "file to which one JSON object per event is appended");
DEFINE_string(
    timeline, "",
    "Chrome trace of all ranks to write, FILE or FILE:FIRST-LAST for these iterations (default: the last 50)");
DEFINE_bool(shuffle, false, "shuffle the training data by random_seed, in another order each epoch");
DEFINE_int32(data_threads, 0, "threads that read and transform images, per data layer; 0: chosen by the machine");

namespace robusta {
namespace {

struct LaterFlag {
  const char* name;
  const char* cause;
  const char* fix;
};

constexpr const char* kNoCompare = "the actions collect and compare are not built in";
constexpr const char* kNoDetection = "detection is not built in yet";
constexpr const char* kNoAsync = "asynchronous training is not built in";

constexpr LaterFlag kLater[] = {
    {"n_group", kNoAsync, "leave -n_group out"},
    {"n_server", kNoAsync, "leave -n_server out"},
    {"detection", kNoDetection, "leave -detection out"},
    {"ap_version", kNoDetection, "leave -ap_version out"},
    {"show_per_class_result", kNoDetection, "leave -show_per_class_result out"},
    {"collect_dir", kNoCompare, "leave -collect_dir out"},
    {"compare_output_dir", kNoCompare, "leave -compare_output_dir out"},
    {"epsilon", kNoCompare, "leave -epsilon out"},
    {"fast_compare", kNoCompare, "leave -fast_compare out"},
    {"fast_compare_max", kNoCompare, "leave -fast_compare_max out"},
    {"buffer_filler", kNoCompare, "leave -buffer_filler out"},
};

bool in_use(const char* name) {
  const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name);
  return info.current_value != info.default_value;
}

}  // namespace

void refuse_flags_of_later_parts() {
  for (const LaterFlag& flag : kLater) {
    if (in_use(flag.name)) throw Error(ErrorKind::kUnsupported, str('-', flag.name, ": ", flag.cause), flag.fix);
  }
  if (own_launch().rank > 0) return;
  for (const char* name : {"bvlc", "threshold", "engine"}) {
    if (in_use(name)) LOG_INFO << '-' << name << " is accepted and changes nothing here";
  }
}

bool is_of_later_part(const std::string& flag) {
  return std::any_of(std::begin(kLater), std::end(kLater), [&](const LaterFlag& later) { return later.name == flag; });
}

void require_flag(const std::string& action, const std::string& flag, const std::string& value) {
  if (!value.empty()) return;
  throw Error(ErrorKind::kUsage, "caffe " + action + " needs -" + flag, "see caffe --help");
}

void refuse_gpu() {
  if (FLAGS_gpu.empty()) return;
  throw Error(ErrorKind::kUnsupported, "-gpu: this build has no GPU support", "leave -gpu out: the CPU is used");
}

int64_t batch_flag() {
  if (FLAGS_batch.empty()) return 0;
  size_t used = 0;
  int64_t batch = 0;
  try {
    batch = std::stoll(FLAGS_batch, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == FLAGS_batch.size() && batch > 0) return batch;
  throw Error(ErrorKind::kUsage, "-batch \"" + FLAGS_batch + "\" is no number of samples", "give 1 or more");
}

std::vector<std::string> stage_flag() { return split_list(FLAGS_stage); }

}  // namespace robusta
