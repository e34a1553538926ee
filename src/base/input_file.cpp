// O_NONBLOCK: without it open() waits for the writer of a FIFO. Of regular files it changes nothing.

#include "base/input_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/str.h"

namespace robusta {

InputFile open_input_file(const std::string& path, ErrorKind kind) {
  InputFile file{.descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), .info = {}};
  if (!file.descriptor.is_open())
    throw Error(kind, str("cannot open: ", std::strerror(errno)), "check the path").at(path);
  if (::fstat(file.descriptor.get(), &file.info) != 0) {
    throw Error(kind, str("cannot read: ", std::strerror(errno)), "check the disk").at(path);
  }
  if (S_ISDIR(file.info.st_mode)) throw Error(kind, "this is a folder", "name a file").at(path);
  if (!S_ISREG(file.info.st_mode)) throw Error(kind, "this is no regular file", "name a file").at(path);
  return file;
}

std::string read_input_file(const std::string& path, ErrorKind kind) {
  constexpr off_t kMostBytes = off_t{1} << 31;  // a list of the pictures of all data sets that there are has less
  const InputFile file = open_input_file(path, kind);
  if (file.info.st_size > kMostBytes) {
    throw Error(kind, str("a file of ", file.info.st_size, " bytes is read at once, and may have 2 GiB"),
                "give a smaller file, or several")
        .at(path);
  }
  std::string content(static_cast<size_t>(file.info.st_size), '\0');
  size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = ::read(file.descriptor.get(), content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(kind, str("cannot read: ", std::strerror(errno)), "check the disk").at(path);
    if (got == 0) break;  // cut off since it was opened
    have += static_cast<size_t>(got);
  }
  content.resize(have);
  return content;
}

}  // namespace robusta
