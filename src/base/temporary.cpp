// Names, creation and removal of temporaries. Names of process ids, which earlier versions gave, are still recognised
// when what dead writers left is removed.
#include "base/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/descriptor.h"

namespace robusta {
namespace {

constexpr const char* kTemporary = ".tmp.";
constexpr size_t kDigits = 16;  // hexadecimal, of 64 random bits

/// "a" for "a.tmp.0123456789abcdef" and "a.tmp.123", "" for what is no temporary.
std::string name_in_place(const std::string& name) {
  const size_t at = name.rfind(kTemporary);
  if (at == std::string::npos) return "";
  const std::string suffix = name.substr(at + std::strlen(kTemporary));
  const bool is_random = suffix.size() == kDigits && suffix.find_first_not_of("0123456789abcdef") == std::string::npos;
  const bool is_process = !suffix.empty() && suffix.find_first_not_of("0123456789") == std::string::npos;
  return is_random || is_process ? name.substr(0, at) : "";
}

/// The lock, and nothing in the name, tells whether the writer lives: it goes with the writer, also on other hosts and
/// in other containers. Between making and locking a file there is a moment, hence the age. NFS locks only what is
/// open for writing.
bool is_abandoned(const std::string& path) {
  constexpr time_t kSeconds = 60;
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return status.st_mtime + kSeconds < ::time(nullptr) && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::string temporary_name(const std::string& path) {
  uint64_t bits = 0;
  // Without random bits a name can be guessed, but O_EXCL still refuses what was put there.
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    bits = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
           (static_cast<uint64_t>(::getpid()) << 40);
  }
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(bits));
  return path + kTemporary + digits;
}

bool is_temporary_of(const std::string& name, const std::string& own) { return name_in_place(name) == own; }

int create_temporary(const std::string& name) {
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);
  return fd;
}

std::vector<std::string> remove_abandoned(const std::string& folder,
                                          const std::function<bool(const std::string& name)>& is_ours) {
  namespace fs = std::filesystem;
  std::vector<std::string> removed;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::string written = name_in_place(name);
    if (written.empty() || !is_ours(written) || !is_abandoned(it->path().string())) continue;
    if (::unlink(it->path().c_str()) == 0) removed.push_back(name);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

}  // namespace robusta
