// What the kernel says is available, within the limits of the process and of its control groups.

#include "device/cpu/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

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

/// How a version of control groups calls its files.
struct GroupFiles {
  const char *limit, *usage;
  std::vector<std::string> reclaimable;  ///< rows of memory.stat: files in memory, which the kernel gives up first
};

const GroupFiles kVersion1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_active_file", "total_inactive_file"}};
const GroupFiles kVersion2{"memory.max", "memory.current", {"active_file", "inactive_file"}};

/// A number in a file; no limit when the file is absent or says "max".
size_t read_number(const std::string& path) {
  std::ifstream in(path);
  size_t value = 0;
  return in >> value ? value : kNoLimit;
}

size_t reclaimable(const std::string& group, const GroupFiles& files) {
  std::ifstream in(group + "/memory.stat");
  size_t sum = 0, bytes = 0;
  for (std::string key; in >> key >> bytes;) {
    if (std::count(files.reclaimable.begin(), files.reclaimable.end(), key) > 0) sum += bytes;
  }
  return sum;
}

size_t group_available(const std::string& group, const GroupFiles& files) {
  const size_t limit = read_number(group + '/' + files.limit), usage = read_number(group + '/' + files.usage);
  if (limit == kNoLimit || usage == kNoLimit) return kNoLimit;
  const size_t used = usage - std::min(usage, reclaimable(group, files));
  return limit > used ? limit - used : 0;
}

/// Where a hierarchy of groups is mounted, and which of its groups is seen there.
struct GroupMount {
  std::string root, place;
};

bool has_word(const std::string& list, const std::string& word) {
  return (',' + list + ',').find(',' + word + ',') != std::string::npos;
}

/// Of proc(5): id, parent, device, root, place, options, some optional fields, "-", type, source, options of the
/// system.
std::vector<GroupMount> mounts_of_memory(const std::string& system, bool version_2) {
  std::vector<GroupMount> found;
  std::ifstream in(system + "/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string skipped, type, source, options;
    GroupMount mount;
    fields >> skipped >> skipped >> skipped >> mount.root >> mount.place;
    while (fields >> skipped && skipped != "-") continue;
    fields >> type >> source >> options;
    if (version_2 ? type == "cgroup2" : type == "cgroup" && has_word(options, "memory")) found.push_back(mount);
  }
  return found;
}

/// The path of this process's group in the hierarchy of memory: of lines "4:cpu,memory:/a/b" that with this
/// controller, of version 2 the one without any.
std::string own_group(const std::string& system, bool version_2) {
  std::ifstream in(system + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : has_word(controllers, "memory")) return line.substr(second + 1);
  }
  return "";
}

/// `path` below `root`; "/" where it lies elsewhere, as a container sees it that has the root of its own alone.
std::filesystem::path below(const std::string& path, const std::string& root) {
  if (root == "/") return path;
  if (path == root || !path.starts_with(root + '/')) return "/";
  return path.substr(root.size());
}

/// The limits of the group and of all above it hold.
size_t hierarchy_available(const std::string& system, bool version_2) {
  const std::string own = own_group(system, version_2);
  size_t least = kNoLimit;
  for (const GroupMount& mount : mounts_of_memory(system, version_2)) {
    for (std::filesystem::path group = below(own, mount.root);; group = group.parent_path()) {
      const std::string folder = system + mount.place + group.string();
      least = std::min(least, group_available(folder, version_2 ? kVersion2 : kVersion1));
      if (!group.has_relative_path()) break;
    }
  }
  return least;
}

}  // namespace

size_t control_groups_leave(const std::string& system) {
  return std::min(hierarchy_available(system, true), hierarchy_available(system, false));
}

size_t address_space_leaves() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const size_t used = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

size_t available_host_memory() {
  return std::min({meminfo_available(), control_groups_leave(), address_space_leaves()});
}

}  // namespace robusta
