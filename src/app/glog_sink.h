/// The log of the programs: on stderr, written by glog, in the form that Caffe's log parsers know.
#pragma once

#include "app/flags/flag_set.h"

namespace robusta {

/// Makes glog the sink of the process (robusta/log.h): on stderr and in no files, with Caffe's prefix
/// `I1122 09:15:02.123456 PID file.cpp:LINE] `. Call once, at the beginning of main.
void log_to_glog(const char* program);

/// glog's own flags (-minloglevel, -v...), which every Caffe takes.
ForeignFlags flags_of_glog();

}  // namespace robusta
