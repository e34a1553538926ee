// The name is asked for twice, before the work and after it: another process may have taken it meanwhile.

#include "data/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/output_place.h"
#include "base/temporary.h"
#include "robusta/error.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0744;  // as Caffe's tools

void require_absent(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  throw Error(ErrorKind::kOutput, folder + " exists already", "remove it first, or write under another name");
}

std::string without_trailing_slash(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

/// A temporary may be large, and nobody else would tell that it is there. Its writer may also be alive.
void warn_of_temporaries(const std::string& folder) {
  const std::string own = fs::path(folder).filename().string();
  std::error_code error;
  for (fs::directory_iterator at(folder_of(folder), error), end; !error && at != end; at.increment(error)) {
    std::error_code no_folder;
    if (!at->is_directory(no_folder) || !is_temporary_of(at->path().filename().string(), own)) continue;
    LOG_WARNING << at->path().string() << " is unfinished: another run is writing it, or was killed; remove it if"
                << " there is no such run.";
  }
}

}  // namespace

NewFolder::NewFolder(const std::string& path) : path_(without_trailing_slash(path)), temporary_(temporary_name(path_)) {
  require_absent(path_);
  warn_of_temporaries(path_);
  if (::mkdir(temporary_.c_str(), kFolderMode) == 0) return;
  const int code = errno;
  if (code != ENOENT && code != EACCES) fail_output("cannot make the folder", path_, code);
  throw Error(ErrorKind::kOutput, "cannot make the folder " + path_ + ": " + std::strerror(code),
              "create the folder that it goes into, and check its permissions");
}

void NewFolder::publish() {
  require_absent(path_);
  // The names of its files: they have to be on the disk before its own is.
  const Descriptor folder(::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // What is no error: file systems that cannot sync folders, and say EINVAL.
  if (folder.is_open() && ::fsync(folder.get()) != 0 && errno != EINVAL)
    fail_output("cannot write the folder", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_output("cannot make the folder", path_, errno);
  temporary_.clear();
  // For the name to survive a power failure; a file system that cannot promise that has written all the same.
  const Descriptor parent(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.is_open()) ::fsync(parent.get());
}

void NewFolder::remove() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

}  // namespace robusta
