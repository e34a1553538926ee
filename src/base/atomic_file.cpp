// Replacing a file so that a crash at any moment leaves the old one or the new one: write beside it, sync, rename, sync
// the folder (Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014, section 4).
#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/descriptor.h"
#include "base/output_place.h"
#include "base/temporary.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Without this the rename itself may be lost in a power failure. Some file systems refuse it; the file is whole then.
void sync_folder(const std::string& path) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) ::fsync(folder.get());
}

void replace(const std::string& path, const std::function<void(int fd)>& write) {
  const std::string temporary = temporary_name(path);
  const Descriptor file(create_temporary(temporary));
  if (!file.is_open()) fail_output("cannot create", path, errno);
  try {
    write(file.get());
    if (::fsync(file.get()) != 0) fail_output("cannot write", path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_output("cannot rename to", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(path);
}

void write_through(const std::string& path, const std::function<void(int fd)>& write) {
  const Descriptor file(open_through(path));
  write(file.get());
}

}  // namespace

void write_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_output("cannot write", "file", errno);
    at += n;
    bytes -= static_cast<size_t>(n);
  }
}

void write_all_at(int fd, const void* data, size_t bytes, size_t place) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd, at, bytes, static_cast<off_t>(place));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_output("cannot write", "file", errno);
    at += n;
    place += static_cast<size_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

void write_file_atomically(const std::string& path, const std::function<void(int fd)>& write) {
  const OutputPlace place = find_output("cannot write", path);
  try {
    (place.is_file ? replace : write_through)(place.path, write);
  } catch (Error& error) {
    throw error.at(path);
  }
}

void require_writable_prefix(const std::string& what, const std::string& prefix) {
  const std::string probe = temporary_name(prefix + ".writable");
  const Descriptor file(create_temporary(probe));
  if (!file.is_open()) fail_output("cannot write " + what, prefix, errno);
  ::unlink(probe.c_str());
}

void require_writable_file(const std::string& what, const std::string& path) {
  const OutputPlace place = find_output("cannot write " + what, path);
  if (place.is_file) return require_writable_prefix(what, place.path);
  // Opening it might already tell a reader that the output has ended.
  if (::access(place.path.c_str(), W_OK) != 0) fail_output("cannot write " + what, path, errno);
}

}  // namespace robusta
