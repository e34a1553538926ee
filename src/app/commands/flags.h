/// The command line of `caffe`: the flags of BVLC, Intel, NVIDIA and IBM, and Robusta's own.
///
/// Values live in gflags; reading argv is ours, because gflags cannot take both `-lms` and `-lms 8000`, leaves the
/// process by itself on an unknown flag, and knows no nearest name.
#pragma once

#include <string>
#include <vector>

#include <gflags/gflags_declare.h>

DECLARE_string(solver);
DECLARE_string(model);
DECLARE_string(phase);
DECLARE_int32(level);
DECLARE_string(stage);
DECLARE_string(snapshot);
DECLARE_string(weights);
DECLARE_int32(iterations);
DECLARE_string(sigint_effect);
DECLARE_string(sighup_effect);
DECLARE_bool(forward_only);
DECLARE_bool(sampling);
DECLARE_bool(share_memory);
DECLARE_bool(autotune);
DECLARE_bool(deterministic);
DECLARE_bool(tf32);
DECLARE_bool(cuda_graphs);
DECLARE_string(precision);
DECLARE_string(batch);
DECLARE_bool(accept_batch_change);
DECLARE_string(lr_scaling);
DECLARE_string(ddl);
DECLARE_string(gpu);
DECLARE_string(gpu_memory);
DECLARE_string(lms);
DECLARE_double(lms_frac);
DECLARE_double(link_gbs);
DECLARE_bool(share_gpu);
DECLARE_string(kernels);
DECLARE_string(tune_cache);
DECLARE_string(memory);
DECLARE_string(max_walltime);
DECLARE_string(log_json);
DECLARE_string(timeline);
DECLARE_bool(shuffle);
DECLARE_int32(data_threads);

namespace robusta {

struct CommandLine {
  std::vector<std::string> words;  ///< what is no flag: the action
  bool help = false, version = false;
};

/// Reads argv into the flags: -name value, -name=value, --name..., -noname for switches. Throws Error{kUsage} for an
/// unknown flag (with the nearest one), a missing and an unreadable value.
CommandLine read_command_line(int argc, char** argv);

/// Names and values of the flags that all ranks of a job have to be given alike.
std::vector<std::pair<std::string, std::string>> flags_of_the_job();

/// Throws Error{kUnsupported} for a flag in use whose part is not built in, and logs, as the first process of a
/// job, those that change nothing here.
void refuse_flags_of_later_parts();

/// Throws Error{kUnsupported} when -gpu is given.
void refuse_gpu();

/// Whether refuse_flags_of_later_parts would refuse this flag.
bool is_of_later_part(const std::string& flag);

/// Throws Error{kUsage} saying that `action` needs the flag, unless `value` is given.
void require_flag(const std::string& action, const std::string& flag, const std::string& value);

/// -batch as a number, 0 when it is not given. Throws Error{kUsage}.
int64_t batch_flag();

/// -stage without blanks and empty entries.
std::vector<std::string> stage_flag();

/// The flags of this program with their meaning, for --help.
std::string describe_flags();

}  // namespace robusta
