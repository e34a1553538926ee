/// No log lines but errors while it lives.
#pragma once

#include <glog/logging.h>

namespace robusta {

class QuietLog {
 public:
  QuietLog() : before_(FLAGS_minloglevel) { FLAGS_minloglevel = std::max(before_, google::GLOG_ERROR); }
  ~QuietLog() { FLAGS_minloglevel = before_; }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  int before_;
};

}  // namespace robusta
