// Looks, and waits for nobody: whoever follows decides how often to look.

#include "inspect/watch/followed_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/input_file.h"

namespace robusta {
namespace {

constexpr size_t kBeginning = 4096;  // bytes: the first event, which tells the time, lies within

std::string read_at(int file, int64_t at, size_t most) {
  std::string bytes(most, '\0');
  const ssize_t got = ::pread(file, bytes.data(), most, at);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace

FollowedFile::FollowedFile(std::string path)
    : path_(std::move(path)), file_(open_input_file(path_, ErrorKind::kUsage).descriptor) {}

Descriptor FollowedFile::another_file() const {
  struct stat here = {}, there = {};
  const bool known = ::fstat(file_.get(), &here) == 0 && ::stat(path_.c_str(), &there) == 0 && S_ISREG(there.st_mode);
  if (!known || (here.st_ino == there.st_ino && here.st_dev == there.st_dev)) return Descriptor();
  try {
    return open_input_file(path_, ErrorKind::kUsage).descriptor;
  } catch (const Error&) {
    return Descriptor();  // gone again, or not for us: the old file is what there is
  }
}

bool FollowedFile::is_this_one(int file) const { return read_at(file, 0, beginning_.size()) == beginning_; }

bool FollowedFile::is_shorter() const {
  struct stat here = {};
  return ::fstat(file_.get(), &here) == 0 && here.st_size < at_;
}

void FollowedFile::begin_again() {
  at_ = 0;
  beginning_.clear();
  lines_ = LineCutter();
}

bool FollowedFile::read(const std::function<void(std::string_view)>& line, const std::function<void()>& restart) {
  if (Descriptor other = another_file(); other.is_open()) {
    const bool copy = is_this_one(other.get());
    if (!copy && read_on(line)) return true;
    file_ = std::move(other);
    if (!copy) {
      begin_again();
      restart();
    }
  }
  if (is_shorter() || !is_this_one(file_.get())) {
    begin_again();
    restart();
  }
  return read_on(line);
}

bool FollowedFile::read_on(const std::function<void(std::string_view)>& line) {
  bool any = false;
  const auto hand_over = [&](std::string_view whole) {
    any = true;
    line(whole);
  };
  while (true) {
    const std::string block = read_at(file_.get(), at_, 1 << 20);
    if (block.empty()) return any;
    at_ += static_cast<int64_t>(block.size());
    if (beginning_.size() < kBeginning) beginning_.append(block, 0, kBeginning - beginning_.size());
    lines_.take(block, hand_over);
  }
}

}  // namespace robusta
