// Threads wait for each other, so the one that waited longest has held up all. The kernel adds to the time when a
// thread gets its processor at last: of one that is ready all the while and does not run, the wait that lasts is
// counted ahead of it.
#include "comm/liveness/starvation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace robusta::liveness {
namespace {

/// Of a file stat: "id (name) state ...", where the name may be anything. A thread may end while it is looked at, so
/// that reading fails: std::getline says so, where iterators over the stream would throw.
bool is_ready(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text, '\0');
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end, 3) == ") R";
}

}  // namespace

bool Starvation::read(const std::string& thread, Thread& now) const {
  const std::filesystem::path folder = std::filesystem::path(tasks_) / thread;
  std::ifstream file(folder / "schedstat");
  if (!(file >> now.running >> now.waiting)) return false;
  now.ready = is_ready(folder / "stat");
  return true;
}

double Starvation::waited(const Thread& before, double stretch, Thread& now) {
  const bool stands = now.running == before.running && now.waiting == before.waiting;
  if (stands && before.ready && now.ready) {
    now.ahead = before.ahead + stretch;
    return stretch;
  }
  const double told = now.waiting > before.waiting ? static_cast<double>(now.waiting - before.waiting) * 1e-9 : 0;
  return std::max(told - before.ahead, 0.0);
}

double Starvation::seconds(double now) {
  std::map<std::string, Thread> threads;
  std::error_code error;
  double longest = 0;
  for (std::filesystem::directory_iterator it(tasks_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    Thread thread;
    if (!read(name, thread)) continue;
    if (const auto before = threads_.find(name); before != threads_.end()) {
      longest = std::max(longest, waited(before->second, now - looked_at_, thread));
    }
    threads[name] = thread;
  }
  threads_ = std::move(threads);
  looked_at_ = now;
  return total_ += longest;
}

}  // namespace robusta::liveness
