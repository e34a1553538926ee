// Threads wait for each other, so the one that waited longest has held up all. The kernel adds to the time when a
// thread gets its processor at last.
#include "comm/liveness/starvation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace robusta::liveness {

double Starvation::seconds() {
  std::map<std::string, uint64_t> now;
  std::error_code error;
  uint64_t longest = 0;
  for (std::filesystem::directory_iterator it(tasks_, error), end; !error && it != end; it.increment(error)) {
    const std::string thread = it->path().filename().string();
    uint64_t running = 0, waiting = 0;
    std::ifstream file(it->path() / "schedstat");
    if (!(file >> running >> waiting)) continue;
    now[thread] = waiting;
    const auto before = waited_.find(thread);
    if (before != waited_.end() && waiting > before->second) longest = std::max(longest, waiting - before->second);
  }
  waited_ = std::move(now);
  total_ += static_cast<double>(longest) * 1e-9;
  return total_;
}

}  // namespace robusta::liveness
