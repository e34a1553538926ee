// What stands at the path of an output. Links are followed here, one by one, and not by the system: a temporary has to
// lie beside the file that is meant, and a link in /proc is a descriptor whose text need not be a path.
#include "base/output_place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "robusta/error.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as Linux's path_resolution(7)

std::string way_out(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or write elsewhere";
    case ENOENT:
      return "create the folder first";
    case EISDIR:
      return "name a file, not a folder";
    case ENXIO:
      return "start what reads the pipe first";
    case ENOTBLK:
      return "name a file, or write the disk with a program that is made for it";
    default:
      return "check the path and its permissions";
  }
}

/// Links of /proc lead to open files, whatever their text says.
bool is_descriptor(const std::string& path) {
  struct statfs system = {};
  return ::statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// The number of this process's descriptor that a path in /proc names.
std::optional<int> own_descriptor(const std::string& path) {
  std::error_code error;
  if (!is_descriptor(path) || !fs::equivalent(folder_of(path), "/proc/self/fd", error)) return std::nullopt;
  return std::atoi(fs::path(path).filename().c_str());
}

/// In a folder with the sticky bit everybody may leave a link; whoever follows it writes the leaver's choice of file.
bool is_planted(const std::string& link, uid_t owner) {
  struct stat folder = {};
  if (::stat(folder_of(link).c_str(), &folder) != 0) return false;
  const bool for_everybody = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return for_everybody && owner != ::geteuid() && owner != folder.st_uid;
}

std::string follow(const std::string& what, const std::string& link, uid_t owner) {
  if (is_planted(link, owner)) {
    throw Error(ErrorKind::kOutput, what + " " + link + ": it is a symbolic link of another user",
                "remove it, or write into a folder of your own");
  }
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (error) fail_output(what, link, error.value());
  return (fs::path(folder_of(link)) / target).string();
}

}  // namespace

std::string folder_of(const std::string& path) {
  const auto parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

void fail_output(const std::string& what, const std::string& path, int code) {
  const std::string reason = code == ENOTBLK ? "it is a disk" : std::strerror(code);
  throw Error(ErrorKind::kOutput, what + " " + path + ": " + reason, way_out(code));
}

OutputPlace find_output(const std::string& what, const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat status = {};
    // Whoever creates the file will say why that cannot be.
    if (::lstat(at.c_str(), &status) != 0) return {at, true};
    if (S_ISDIR(status.st_mode)) fail_output(what, at, EISDIR);
    if (S_ISBLK(status.st_mode)) fail_output(what, at, ENOTBLK);
    if (!S_ISLNK(status.st_mode)) return {at, S_ISREG(status.st_mode)};
    if (is_descriptor(at)) return {at, false};
    at = follow(what, at, status.st_uid);
  }
  fail_output(what, path, ELOOP);
}

int open_through(const std::string& path) {
  const auto own = own_descriptor(path);
  // Opening a pipe that nobody reads would wait for ever; writing to it may wait.
  const int fd = own ? ::fcntl(*own, F_DUPFD_CLOEXEC, 0)
                     : ::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) fail_output("cannot write", path, errno);
  if (!own) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

int open_for_appending(const std::string& what, const std::string& path) {
  const OutputPlace place = find_output(what, path);
  if (!place.is_file) return open_through(place.path);
  const int fd = ::open(place.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) fail_output(what, path, errno);
  return fd;
}

}  // namespace robusta
