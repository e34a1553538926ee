// Looks, and waits for nobody: whoever follows decides how often to look.

#include "inspect/watch/followed_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/input_file.h"

namespace robusta {

FollowedFile::FollowedFile(std::string path) : path_(std::move(path)) { open(); }

void FollowedFile::open() {
  file_ = open_input_file(path_, ErrorKind::kUsage).descriptor;
  at_ = 0;
  rest_.clear();
}

bool FollowedFile::was_replaced() const {
  struct stat here = {}, there = {};
  if (::fstat(file_.get(), &here) != 0) return false;
  if (here.st_size < at_) return true;
  const bool known = ::stat(path_.c_str(), &there) == 0 && S_ISREG(there.st_mode);
  return known && (here.st_ino != there.st_ino || here.st_dev != there.st_dev);
}

bool FollowedFile::read(const std::function<void(std::string_view)>& line, const std::function<void()>& restart) {
  if (was_replaced()) {
    open();
    restart();
  }
  bool any = false;
  std::string block(1 << 20, '\0');
  while (true) {
    const ssize_t got = ::pread(file_.get(), block.data(), block.size(), at_);
    if (got <= 0) return any;
    at_ += got;
    rest_.append(block, 0, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      line(std::string_view(rest_).substr(begin, end - begin));
      begin = end + 1;
      any = true;
    }
    rest_.erase(0, begin);
    constexpr size_t kLongest = 64 << 20;
    if (rest_.size() > kLongest) rest_.clear();  // no line of a log
  }
}

}  // namespace robusta
