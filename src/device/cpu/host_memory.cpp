// What the kernel says is available, within the limits of the process.

#include "device/cpu/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace robusta {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

size_t meminfo_available() {
  std::ifstream in("/proc/meminfo");
  for (std::string key; in >> key;) {
    size_t kib = 0;
    if (key == "MemAvailable:" && in >> kib) return kib * 1024;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kNoLimit;
}

/// A number in a file; no limit when the file is absent or says "max".
size_t read_limit(const char* path) {
  std::ifstream in(path);
  size_t value = 0;
  return in >> value ? value : kNoLimit;
}

size_t cgroup_available(const char* limit_path, const char* usage_path) {
  const size_t limit = read_limit(limit_path), usage = read_limit(usage_path);
  if (limit == kNoLimit || usage == kNoLimit) return kNoLimit;
  return limit > usage ? limit - usage : 0;
}

}  // namespace

size_t available_host_memory() {
  const size_t v2 = cgroup_available("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
  const size_t v1 =
      cgroup_available("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes");
  return std::min({meminfo_available(), v2, v1});
}

}  // namespace robusta
