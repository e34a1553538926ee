/// Names of threads, as ps -T, top -H, gdb and perf show them.
#pragma once

#include <pthread.h>

namespace robusta {

/// Names the calling thread. Linux takes 15 letters at most; a longer name leaves the thread as it was called before.
inline void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace robusta
