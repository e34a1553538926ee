// How a value joins its series.

#include "inspect/runs/run_log.h"

namespace robusta {

void RunLog::add(const std::string& tag, double at, double seconds_now, double value) {
  RunSeries& s = series[tag];
  while (!s.iter.empty() && s.iter.back() >= at) {
    s.iter.pop_back();
    s.value.pop_back();
    s.seconds.pop_back();
  }
  s.iter.push_back(at);
  s.value.push_back(value);
  s.seconds.push_back(seconds_now);
  iter = at;
}

}  // namespace robusta
