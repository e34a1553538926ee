#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
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
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (file.fd < 0) fail("cannot create", path, errno);
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
