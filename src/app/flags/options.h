/// The command line of `caffe`: the flags of BVLC, Intel, NVIDIA and IBM, and Robusta's own. One line declares a flag.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/flags/flag_set.h"

namespace robusta {

struct Options : FlagSet {
  // Caffe's.
  Flag<std::string> solver{this, "solver", "", "solver prototxt (train, check, time)", kOfRank};
  Flag<std::string> model{this, "model", "", "net prototxt (test, time)"};
  Flag<std::string> phase{this, "phase", "",
                          "TRAIN or TEST (time, plan; unless given TRAIN, or TEST for a net of that phase alone)"};
  Flag<int32_t> level{this, "level", 0, "level of the net's state"};
  Flag<std::string> stage{this, "stage", "", "stages of the net's state, separated by commas"};
  Flag<std::string> snapshot{this, "snapshot", "",
                             "a .solverstate to resume from; auto: the newest whole one of the prefix, if any"};
  Flag<std::string> weights{this, "weights", "", "weights to begin with, separated by commas (test: one file)"};
  Flag<int32_t> iterations{this, "iterations", 50, "batches to run (test, time; find_lr: 100 unless given)"};
  Flag<std::string> sigint_effect{this, "sigint_effect", "stop",
                                  "what SIGINT does while training: snapshot, stop or none"};
  Flag<std::string> sighup_effect{this, "sighup_effect", "snapshot",
                                  "what SIGHUP does while training: snapshot, stop or none"};
  Flag<std::string> gpu{this, "gpu", "", "device ids separated by commas, or all", kOfRank};

  // Intel's.
  Flag<bool> forward_only{this, "forward_only", false, "leave backward out (time)"};
  Flag<bool> roofline{this, "roofline", false,
                      "time: beside each layer what the processor's cores and memory would allow"};
  Flag<double> peak_seconds{this, "peak_seconds", 0,
                            "device_query: measure for so many seconds each what cores and memory give; 0: do not"};
  Flag<std::string> engine{this, "engine", "", "changes nothing: kernels are chosen by -kernels", kNoEffect};
  Flag<std::string> collect_dir{this, "collect_dir", "collect_out", "folder that collect writes and compare reads"};
  Flag<std::string> compare_output_dir{this, "compare_output_dir", "compare_out",
                                       "compare: folder for lists of errors, made where there are any"};
  Flag<double> epsilon{this, "epsilon", 1e-3, "compare: errors up to this are none"};
  Flag<bool> fast_compare{this, "fast_compare", false, "compare: leave an array after fast_compare_max errors"};
  Flag<int32_t> fast_compare_max{this, "fast_compare_max", 50, "see -fast_compare"};
  Flag<std::string> buffer_filler{this, "buffer_filler", "NaN",
                                  "collect, compare: what overwrites memory that holds nothing: NaN, or 0 for none"};
  Flag<bool> detection{this, "detection", false, "test: the mean average precision of detections"};
  Flag<bool> sampling{this, "sampling", false, "test: build and load the net, then leave"};
  Flag<int32_t> n_group{this, "n_group", 1, "groups that train with parameter servers (train)"};
  Flag<int32_t> n_server{this, "n_server", 0, "parameter servers: the last ranks hold the parameters (train)"};

  // NVIDIA's.
  Flag<std::string> ap_version{this, "ap_version", "11point", "test -detection: 11point, MaxIntegral or Integral"};
  Flag<bool> show_per_class_result{this, "show_per_class_result", true,
                                   "test -detection: the average precision of each class, too"};

  // IBM's.
  Flag<std::string> ddl{this, "ddl", "", "topology and options of training on several hosts", kOfRank};
  Flag<bool> bvlc{this, "bvlc", false, "changes nothing: accepted for IBM's command lines", kNoEffect};
  Flag<int32_t> threshold{this, "threshold", 0, "changes nothing: accepted for IBM's command lines", kNoEffect};
  Flag<std::string> lms{this, "lms", "",
                        "large model support: alone or auto moves to the host what the GPU has no room for; a size in "
                        "KB moves all values from that on",
                        or_bare("auto")};
  Flag<double> lms_frac{this, "lms_frac", 0,
                        "share of the GPU's memory that is filled before large model support moves anything"};

  // Robusta's.
  Flag<std::string> gpu_memory{this, "gpu_memory", "",
                               "memory of the GPU that may be used, such as 16G (default: what is free)"};
  Flag<double> link_gbs{this, "link_gbs", 0,
                        "GB per second between host and GPU, each way, to predict by; 0: a usual value"};
  Flag<bool> share_gpu{this, "share_gpu", false, "let ranks of one host use the same GPU"};
  Flag<bool> share_memory{this, "share_memory", true,
                          "let values that are not alive at the same time share memory; the results are the same"};
  Flag<bool> autotune{this, "autotune", true, "time kernels when planning and take the fastest"};
  Flag<bool> deterministic{this, "deterministic", false, "the same bits on every run: implies -autotune=false"};
  Flag<bool> cuda_graphs{this, "cuda_graphs", true, "launch the steps of a pass on a GPU as recorded graphs"};
  Flag<bool> tf32{this, "tf32", true, "round the factors of products to 10 bits of mantissa where a GPU is faster so"};
  Flag<std::string> precision{
      this, "precision", "",
      "of activations: f32, bf16, on a GPU fp16, or auto: bf16 where it is faster (default: as forward_type and its "
      "like in the net say)"};
  Flag<std::string> batch{
      this, "batch", "",
      "samples per batch, instead of that of every data layer; global: training divides them by the ranks"};
  Flag<std::string> sockets{this, "sockets", "",
                            "ranks of this process on the CPU: auto, one on each NUMA node, or so many (train, check, "
                            "find_lr)"};
  Flag<int32_t> micro_batches{this, "micro_batches", 1,
                              "parts that each batch of training is cut into, which pass one after the other (train)"};
  Flag<std::string> pipeline{this, "pipeline", "1f1b",
                             "order of the micro-batches where layers name devices: 1f1b or gpipe (train)"};
  Flag<bool> accept_batch_change{this, "accept_batch_change", false,
                                 "resume with another number of samples per iteration"};
  Flag<std::string> lr_scaling{this, "lr_scaling", "none",
                               "base_lr times the ranks (linear), their root (sqrt), or none"};
  Flag<std::string> kernels{this, "kernels", "auto", "backend of the kernels: auto, reference, ..."};
  Flag<std::string> tune_cache{this, "tune_cache", "",
                               "file of timed kernel choices (default: robusta/kernels in $XDG_CACHE_HOME or ~/.cache)",
                               kOfRank};
  Flag<std::string> memory{
      this, "memory", "", "plan: the memory that the largest batch has to fit in, such as 16G (default: what is free)"};
  Flag<std::string> traffic{this, "traffic", "",
                            "plan: what the kernels of an iteration launch and move, and how long this GPU would take: "
                            "h100, h200, a100, rtx4090 or l4"};
  Flag<int32_t> ranks{this, "ranks", 1, "plan: ranks, of which one is planned, with the options of -ddl"};
  Flag<std::string> max_walltime{this, "max_walltime", "",
                                 "seconds or HH:MM:SS after which training has stopped with a snapshot"};
  Flag<int32_t> restart_code{this, "restart_code", 0,
                             "exit code of what is to be started again: training that was stopped before its end, and "
                             "a lost rank (0: they end with 0 and 8)"};
  Flag<std::string> log_json{this, "log_json", "", "file to which one JSON object per event is appended", kOfRank};
  Flag<std::string> timeline{
      this, "timeline", "",
      "Chrome trace of all ranks to write, FILE or FILE:FIRST-LAST for these iterations (default: the last 50)"};
  Flag<bool> confusion{this, "confusion", false, "test: which class is taken for which other one, as a table"};
  Flag<int32_t> top_losses{this, "top_losses", 0, "test: so many samples of the greatest loss, as a table"};
  Flag<double> from{this, "from", 1e-7, "find_lr: the least learning rate"};
  Flag<double> to{this, "to", 1, "find_lr: the greatest learning rate"};
  Flag<std::string> csv{this, "csv", "", "find_lr: file for a table of rates and losses", kOfRank};
  Flag<std::string> json{this, "json", "", "find_lr: file for the same and the suggestion, as one JSON object",
                         kOfRank};
  Flag<std::string> tensorboard{this, "tensorboard", "",
                                "train: folder in which TensorBoard finds this run, in a new folder of its own"};
  Flag<int32_t> tensorboard_histograms{this, "tensorboard_histograms", 0,
                                       "iterations between histograms of weights, gradients and updates; 0: none"};
  Flag<std::string> plugin{this, "plugin", "", "shared libraries with layers of your own, separated by commas"};
  Flag<std::string> dialect{this, "dialect", "",
                            "the Caffe that is meant where forks mean different things by one name and no field "
                            "tells: bvlc, intel, nvidia, ssd, segnet, pspnet or caffe-windows"};
  Flag<bool> shuffle{this, "shuffle", false, "shuffle the training data by random_seed, in another order each epoch"};
  Flag<bool> scaled_jpeg{this, "scaled_jpeg", false,
                         "decode JPEGs that are then made half as large or less to a half, a quarter or an eighth: "
                         "faster, with other pixels than Caffe's"};
  Flag<int32_t> data_threads{this, "data_threads", 0,
                             "threads that read and transform images, per data layer; 0: chosen by the machine"};
};

/// Logs, as the first process of a job, the flags in use that change nothing here.
void tell_of_no_effect(const Options& options);

/// Throws Error{kUsage} for a flag whose number no action can do anything with, also where this one does not read it.
void refuse_wrong_numbers(const Options& options);

/// Names and values of the flags that all ranks of a job have to be given alike.
std::vector<std::pair<std::string, std::string>> flags_of_the_job(const Options& options);

/// Throws Error{kUsage} saying that `action` needs the flag, unless `value` is given.
void require_flag(const std::string& action, const std::string& flag, const std::string& value);

/// The value of a flag that holds a size, 0 when it is empty. Throws Error{kUsage} for what is no size.
size_t size_flag(const Flag<std::string>& flag);

/// -batch as a number, 0 when it is not given. Throws Error{kUsage}.
int64_t batch_flag(const Options& options);

/// -stage without blanks and empty entries.
std::vector<std::string> stage_flag(const Options& options);

/// The flags of this program with their meaning, for --help.
std::string describe_flags(const Options& options);

}  // namespace robusta
