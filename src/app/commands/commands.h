/// The actions of the program `caffe`. Each does its work by the flags and returns an exit code, or throws.
#pragma once

#include "app/flags/options.h"

namespace robusta {

int train_command(const Options& options);
int check_command(const Options& options);
int evaluate_command(const Options& options);
int find_lr_command(const Options& options);
int test_command(const Options& options);
int test_detection_command(const Options& options);
int time_command(const Options& options);
int plan_command(const Options& options);
int collect_command(const Options& options);
int compare_command(const Options& options);
int device_query_command(const Options& options);

/// Does what the command line says: sets up the log, picks the action.
int run_caffe(int argc, char** argv);

/// The same as a whole program: says what an error is and returns its exit code.
int caffe_main(int argc, char** argv);

}  // namespace robusta
