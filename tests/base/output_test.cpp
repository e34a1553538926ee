// Outputs at places that hold no regular file, and names that other users of the host have taken. Nodes and pipes lie
// in folders of the test's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/descriptor.h"
#include "base/output_place.h"
#include "base/temporary.h"
#include "robusta/error.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::output_test {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
  write_file_atomically(path, [&](int fd) { write_all(fd, text.data(), text.size()); });
}

size_t entries(const TempDir& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}));
}

/// As /dev/null is, in a folder of the test's own; false where the system does not let us.
bool make_null(const std::string& path) { return ::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0; }

bool is_device(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
}

TEST(Output, ADeviceStaysOne) {
  const TempDir folder;
  const std::string null = folder / "null";
  if (!make_null(null)) GTEST_SKIP() << "no device can be made here: " << std::strerror(errno);
  put(null, "gone");
  EXPECT_TRUE(is_device(null));
  fs::create_symlink("null", folder / "link");
  put(folder / "link", "gone");
  EXPECT_TRUE(is_device(null));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  require_writable_file("the thing", null);
  EXPECT_TRUE(is_device(null));
  EXPECT_EQ(entries(folder), 2u);
}

TEST(Output, ADiskIsRefused) {
  const TempDir folder;
  // Of a driver that no machine has: nothing is behind it.
  if (::mknod((folder / "disk").c_str(), S_IFBLK | 0600, makedev(4000, 77)) != 0) GTEST_SKIP() << "no node can be made";
  const Error error = error_of([&] { put(folder / "disk", "gone"); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(error.what(), "it is a disk"));
}

TEST(Output, APipeIsWrittenToItsReader) {
  const TempDir folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Descriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  require_writable_file("the thing", pipe);
  put(pipe, "text");
  char text[8] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(entries(folder), 1u);
}

TEST(Output, APipeThatNobodyReadsIsAnErrorAndNoWait) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const bool appended : {false, true}) {
    const Error error = error_of([&] {
      if (appended) open_for_appending("cannot write the log", folder / "pipe");
      put(folder / "pipe", "text");
    });
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    EXPECT_TRUE(contains(error.fix(), "start what reads the pipe first"));
  }
}

TEST(Output, ADescriptorKeepsItsPosition) {
  const TempDir folder;
  const Descriptor file(::open((folder / "file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  write_all(file.get(), "one ", 4);
  fs::create_symlink("/proc/self/fd/" + std::to_string(file.get()), folder / "out");
  put(folder / "out", "two ");
  put("/proc/self/fd/" + std::to_string(file.get()), "three ");
  write_all(file.get(), "four", 4);
  EXPECT_EQ(read_file(folder / "file"), "one two three four");
}

TEST(Output, ALinkStaysAndItsFileIsReplaced) {
  const TempDir folder;
  fs::create_directories(folder / "real");
  write_file(folder / "real/file", "old");
  fs::create_symlink("real/file", folder / "link");
  fs::create_symlink("link", folder / "second");
  fs::create_symlink("real/new", folder / "dangling");
  put(folder / "second", "new");
  put(folder / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::is_symlink(folder / "second"));
  EXPECT_EQ(read_file(folder / "real/file"), "new");
  EXPECT_EQ(read_file(folder / "real/new"), "made");
  EXPECT_EQ(entries(folder), 4u);
  fs::create_symlink("round", folder / "round");
  EXPECT_EQ(error_of([&] { put(folder / "round", "x"); }).kind(), ErrorKind::kOutput);
}

TEST(Output, ALinkOfAnotherUserInAFolderForAllIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make links of other users";
  const TempDir folder;
  fs::create_directories(folder / "tmp");
  ASSERT_EQ(::chmod((folder / "tmp").c_str(), 01777), 0);
  write_file(folder / "precious", "mine");
  fs::create_symlink(folder / "precious", folder / "tmp/out");
  ASSERT_EQ(::lchown((folder / "tmp/out").c_str(), 12345, 12345), 0);
  const Error error = error_of([&] { put(folder / "tmp/out", "gone"); });
  EXPECT_TRUE(contains(error.what(), "symbolic link of another user"));
  EXPECT_EQ(read_file(folder / "precious"), "mine");
}

TEST(Output, WhatStandsUnderATemporarysNameIsNeitherFollowedNorOverwritten) {
  const TempDir folder;
  write_file(folder / "precious", "mine");
  fs::create_symlink("precious", folder / "link");
  fs::create_symlink("not_there", folder / "dangling");
  for (const char* name : {"precious", "link", "dangling"}) EXPECT_LT(create_temporary(folder / name), 0) << name;
  EXPECT_EQ(read_file(folder / "precious"), "mine");
  EXPECT_FALSE(fs::exists(folder / "not_there"));
  EXPECT_NE(temporary_name("a"), temporary_name("a"));
}

/// Names of the process's number, which anybody can tell before.
TEST(Output, PlantedNamesOfTheProcessAreNotUsed) {
  const TempDir folder;
  write_file(folder / "precious", "mine");
  const std::string pid = std::to_string(::getpid());
  for (const std::string& name : {"file.tmp." + pid, "file.writable." + pid}) {
    fs::create_symlink("precious", folder / name);
  }
  require_writable_file("the thing", folder / "file");
  put(folder / "file", "text");
  EXPECT_EQ(read_file(folder / "precious"), "mine");
  EXPECT_EQ(read_file(folder / "file"), "text");
  EXPECT_EQ(entries(folder), 4u);
}

}  // namespace
}  // namespace robusta::test::output_test
