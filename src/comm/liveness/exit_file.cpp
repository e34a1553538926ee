// Written beside its place and linked there: of several ranks that end at once the first one's reason stays, and a
// reader never sees a part of it.

#include "comm/liveness/exit_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/str.h"
#include "base/temporary.h"
#include "comm/liveness/restart_code.h"

namespace robusta {
namespace {

/// Creates `path` with `content`; false when it exists or cannot be created.
bool create_file(const std::string& path, const std::string& content) {
  const int fd = create_temporary(path);
  if (fd < 0) return false;
  const bool whole = write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  return close(fd) == 0 && whole;
}

}  // namespace

bool write_exit_file(int code, int rank, const std::string& why) noexcept try {
  const char* path = std::getenv("ROBUSTA_EXIT_FILE");
  if (path == nullptr || *path == '\0' || access(path, F_OK) == 0) return false;
  std::string line = why.substr(0, why.find('\n'));
  line = str(final_code(code), " ", rank, " ", line, "\n");
  // link(2) neither replaces a file nor shows a part of one, also over NFS; some file systems do not have it.
  const std::string temporary = temporary_name(path);
  if (!create_file(temporary, line)) return false;
  const bool linked = link(temporary.c_str(), path) == 0;
  const bool no_links = !linked && errno != EEXIST;
  unlink(temporary.c_str());
  return linked || (no_links && create_file(path, line));
} catch (...) {
  return false;
}

}  // namespace robusta
