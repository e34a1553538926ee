/// The actions of the program `caffe`. Each reads the flags, does its work and returns an exit code, or throws.
#pragma once

#include <optional>
#include <string>

#include "net/options.h"
#include "net/tuning.h"

namespace robusta {

int train_command();
int check_command();
int test_command();
int time_command();
int plan_command();
int device_query_command();

/// Does what the command line says: sets up the log, picks the action.
int run_caffe(int argc, char** argv);

/// The tuner that the flags ask for; null for none.
std::unique_ptr<RecordingTuner> tuner_from_flags();

/// Options of a net by itself, from the flags. `tuner` may be null.
/// -data_threads and -shuffle.
DataSettings data_settings_from_flags();
NetOptions net_options_from_flags(caffe::Phase phase, RecordingTuner* tuner);

/// -precision; none where it is not given. Throws Error{kUsage}.
std::optional<DType> precision_flag();

/// -kernels. Throws Error{kUsage} for an unknown backend.
std::string kernels_flag();

}  // namespace robusta
