#include "base/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/files.h"

namespace robusta::test::input_file_test {
namespace {

std::string refusal(const std::string& path) {
  try {
    read_input_file(path, ErrorKind::kModel);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kModel);
    EXPECT_EQ(error.location(), path);
    return error.cause();
  }
  ADD_FAILURE() << path << " was read";
  return "";
}

TEST(InputFile, HasAllBytes) {
  const TempDir folder;
  const std::string content("a\0b\xff", 4);
  write_file(folder / "file", content);
  EXPECT_EQ(read_input_file(folder / "file", ErrorKind::kData), content);
}

/// None of these may be waited for.
TEST(InputFile, OnlyRegularFilesAreRead) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder / "pipe"), "this is no regular file");
  EXPECT_EQ(refusal("/dev/zero"), "this is no regular file");
  EXPECT_EQ(refusal(folder.path().string()), "this is a folder");
  EXPECT_EQ(refusal(folder / "none"), "cannot open: No such file or directory");
}

}  // namespace
}  // namespace robusta::test::input_file_test
