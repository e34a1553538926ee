// A cache that cannot be read is an empty one. Writers hold a lock on the folder (flock(2)) and not on a file of their
// own: nothing is left behind, and the cache itself, which is replaced with each writing, cannot carry it.

#include "base/cache_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/atomic_file.h"
#include "base/descriptor.h"
#include "base/input_file.h"
#include "base/output_place.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Closing it ends the lock. A file system without such locks, or somebody who never lets go, keeps nobody from
/// writing: the file stays whole either way.
Descriptor lock_folder(const std::string& folder) {
  constexpr int kTries = 200;
  constexpr std::chrono::milliseconds kBetween(5);
  Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < kTries && open.is_open(); ++i) {
    if (::flock(open.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    std::this_thread::sleep_for(kBetween);
  }
  return open;
}

}  // namespace

std::string read_cache_file(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{64} << 20;
  std::error_code absent;
  const uintmax_t bytes = std::filesystem::file_size(path, absent);
  if (absent || bytes > kLargest) return "";
  try {
    return read_input_file(path, ErrorKind::kUsage);
  } catch (const Error&) {
    return "";
  }
}

void update_cache_file(const std::string& path, const std::function<std::string(const std::string& text)>& merged) {
  std::filesystem::create_directories(folder_of(path));
  const Descriptor lock = lock_folder(folder_of(path));
  const std::string text = merged(read_cache_file(path));
  write_file_atomically(path, [&text](int fd) { write_all(fd, text.data(), text.size()); });
}

}  // namespace robusta
