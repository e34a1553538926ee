// A new file gets its name when it is whole, by link(2), which leaves a file alone that another process has made first.

#include "comm/sockets/user_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "base/str.h"
#include "comm/liveness/roster.h"
#include "robusta/error.h"

namespace robusta::sockets {
namespace {

constexpr const char* kFix = "give all ranks one secret in ROBUSTA_TOKEN; openssl rand -hex 16 makes one";

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::kCommunication, why, kFix); }

std::string secret_file() {
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder && *folder) return str(folder, "/robusta/token");
  if (const char* home = std::getenv("HOME"); home && *home) return str(home, "/.config/robusta/token");
  refuse("nothing tells the ranks of this job from strangers: ROBUSTA_TOKEN is not set, nor is HOME");
}

std::string random_words() {
  std::string words;
  for (const uint8_t byte : liveness::draw_token()) {
    constexpr const char* kDigits = "0123456789abcdef";
    words += kDigits[byte >> 4];
    words += kDigits[byte & 15];
  }
  return words;
}

/// Does nothing where the file is there.
void make(const std::string& file) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  const std::string words = random_words(), unfinished = str(file, ".", words.substr(0, 8));
  const Descriptor made(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const auto bytes = static_cast<ssize_t>(words.size());
  const bool whole = made.is_open() && write(made.get(), words.data(), words.size()) == bytes && fsync(made.get()) == 0;
  const bool there = whole && (link(unfinished.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const int reason = errno;
  if (made.is_open()) unlink(unfinished.c_str());
  if (!there) refuse(str("the ranks' secret cannot be written to ", file, ": ", std::strerror(reason)));
}

/// "" where there is none.
std::string read(const std::string& file) {
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened.is_open()) {
    if (errno == ENOENT) return "";
    refuse(str("the ranks' secret in ", file, " cannot be read: ", std::strerror(errno)));
  }
  struct stat is {};
  if (fstat(opened.get(), &is) != 0 || !S_ISREG(is.st_mode) || is.st_uid != geteuid() || (is.st_mode & 077) != 0) {
    refuse(str("the ranks' secret in ", file, " is not this user's alone (chmod 600)"));
  }
  std::array<char, 128> words{};
  const ssize_t got = ::read(opened.get(), words.data(), words.size() - 1);
  std::string secret(words.data(), got > 0 ? static_cast<size_t>(got) : 0);
  while (!secret.empty() && secret.back() == '\n') secret.pop_back();
  if (secret.size() < 16) refuse(str("the ranks' secret in ", file, " is shorter than 16 characters; remove the file"));
  return secret;
}

}  // namespace

std::string user_secret() {
  if (const char* given = std::getenv("ROBUSTA_TOKEN"); given && *given) return given;
  const std::string file = secret_file();
  std::string secret = read(file);
  if (!secret.empty()) return secret;
  make(file);
  secret = read(file);
  if (secret.empty()) refuse(str("the ranks' secret in ", file, " went away"));
  return secret;
}

}  // namespace robusta::sockets
