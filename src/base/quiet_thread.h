/// Silence for some threads of a process: learners that all would log the same.
#pragma once

namespace robusta {

/// While it lives, the log lines of the thread that made it are left out, errors excepted. The log goes to stderr
/// through a sink of our own from the first one on: glog itself knows one level for all threads.
class QuietThread {
 public:
  QuietThread();
  ~QuietThread();
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;
};

}  // namespace robusta
