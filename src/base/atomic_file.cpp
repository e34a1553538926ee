#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "robusta/error.h"

namespace robusta {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int code) {
  const std::string fix = code == ENOSPC || code == EDQUOT ? "free some space or write elsewhere"
                          : code == ENOENT                 ? "create the folder first"
                          : code == EISDIR                 ? "name a file, not a folder"
                                                           : "check the path and its permissions";
  throw Error(ErrorKind::kOutput, what + " " + path + ": " + std::strerror(code), fix);
}

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// A descriptor that is closed on the way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

constexpr const char* kTemporary = ".tmp.";

/// "a" for "a.tmp.123", "" for what is no temporary.
std::string name_in_place(const std::string& name) {
  const size_t at = name.rfind(kTemporary);
  if (at == std::string::npos) return "";
  const std::string pid = name.substr(at + std::strlen(kTemporary));
  const bool is_number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? name.substr(0, at) : "";
}

/// The lock, and not the process id in the name, which means nothing on other hosts and in other containers, tells
/// whether the writer lives: it goes with the writer. Between making and locking a file there is a moment, hence the
/// age. NFS locks only what is open for writing.
bool is_abandoned(const std::string& path) {
  constexpr time_t kSeconds = 60;
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat status = {};
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return status.st_mtime + kSeconds < ::time(nullptr) && ::flock(file.fd, LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

void write_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write", "file", errno);
    at += n;
    bytes -= static_cast<size_t>(n);
  }
}

void write_file_atomically(const std::string& path, const std::function<void(int fd)>& write) {
  const std::string temporary = path + kTemporary + std::to_string(::getpid());
  Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (file.fd < 0) fail("cannot create", path, errno);
  // For remove_abandoned(); where locks are not to be had it removes nothing.
  ::flock(file.fd, LOCK_EX | LOCK_NB);
  try {
    write(file.fd);
    if (::fsync(file.fd) != 0) fail("cannot write", path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("cannot rename to", path, errno);
  } catch (Error& error) {
    ::unlink(temporary.c_str());
    throw error.at(path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // Without this the rename itself may be lost in a power failure. Some file systems refuse it; the file is whole then.
  Descriptor folder{::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) ::fsync(folder.fd);
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

void require_writable_prefix(const std::string& what, const std::string& prefix) {
  const std::string probe = prefix + ".writable." + std::to_string(::getpid());
  Descriptor file{::open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (file.fd < 0) fail("cannot write " + what, prefix, errno);
  ::unlink(probe.c_str());
}

void require_writable_file(const std::string& what, const std::string& path) {
  // Files beside it could be written, and only the rename at the end would fail.
  if (std::filesystem::is_directory(path)) fail("cannot write " + what, path, EISDIR);
  require_writable_prefix(what, path);
}

}  // namespace robusta
