/// Files for tests: a folder that goes away, whole files, and the recorded material beside the source tree.
#pragma once

#include <filesystem>
#include <string>

namespace robusta::test {

/// A fresh empty folder, removed with all its content at the end of the scope.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

/// Path of `name` in the folder of recorded material (environment variable ROBUSTA_SHARED_DIR, else ../shared beside
/// the source tree), or "" when it is not there: then a test skips itself visibly.
std::string shared_file(const std::string& name);

}  // namespace robusta::test

/// Declares `std::string var`, the path of a recorded file, or skips the test.
#define ROBUSTA_SHARED_FILE(var, name)                        \
  const std::string var = ::robusta::test::shared_file(name); \
  if (var.empty()) GTEST_SKIP() << "no recorded file " << name
