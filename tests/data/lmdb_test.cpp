// Databases that are written and read back, cut off, empty, or none.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "data/lmdb/lmdb_reader.h"
#include "data/lmdb/lmdb_writer.h"
#include "data/open_source.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/files.h"

namespace robusta::lmdb_test {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

std::string value_of(int i, size_t bytes) {
  return std::string(bytes, static_cast<char>('a' + i % 26)) + std::to_string(i);
}

void write(const std::string& folder, int records, size_t bytes) {
  LmdbWriter writer(folder);
  for (int i = 0; i < records; ++i) writer.put(padded(i, 8), value_of(i, bytes));
  writer.finish();
}

/// The error of opening and walking through; a database that can be read whole must hold what was written.
std::string read_all(const std::string& folder, size_t bytes) {
  try {
    const auto reader = LmdbReader::open(folder);
    std::string storage;
    for (int64_t i = 0; i < reader->size(); ++i) {
      EXPECT_EQ(reader->record(i, storage), value_of(static_cast<int>(i), bytes));
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
  return "";
}

template <typename Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kInternal, "");
}

TEST(LmdbTest, ReadsWhatWasWritten) {
  TempDir dir;
  // 12 MB: the map has to grow several times from LMDB's megabyte, and commits come in between.
  write(dir / "db", 3000, 4000);
  EXPECT_EQ(read_all(dir / "db", 4000), "");
  const auto reader = LmdbReader::open(dir / "db");
  EXPECT_EQ(reader->size(), 3000);
  EXPECT_EQ(reader->key(2999), "00002999");
  EXPECT_EQ(record_name(*reader, 5), "00000005 in " + (dir / "db"));
  const auto mode = fs::status(dir / "db").permissions();
  EXPECT_EQ(mode, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
}

TEST(LmdbTest, RandomAccessFromManyThreads) {
  TempDir dir;
  write(dir / "db", 2000, 50);
  const auto reader = LmdbReader::open(dir / "db");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      PhiloxStream random(t);
      std::string storage;
      for (int n = 0; n < 3000; ++n) {
        const auto i = static_cast<int64_t>(random.below(2000));
        if (reader->record(i, storage) != value_of(static_cast<int>(i), 50)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LmdbTest, OneEnvironmentPerFolder) {
  TempDir dir;
  write(dir / "db", 10, 5);
  const auto a = LmdbReader::open(dir / "db");
  EXPECT_EQ(a, LmdbReader::open((dir / "db") + "/../db/"));
}

TEST(LmdbTest, LeavesTheFolderAsItIs) {
  TempDir dir;
  write(dir / "db", 10, 5);
  fs::remove((dir / "db") + "/lock.mdb");
  fs::permissions((dir / "db") + "/data.mdb", fs::perms::owner_read);
  fs::permissions(dir / "db", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(read_all(dir / "db", 5), "");
  EXPECT_FALSE(fs::exists((dir / "db") + "/lock.mdb"));
  fs::permissions(dir / "db", fs::perms::owner_all);
}

TEST(LmdbTest, ManyProcessesAtOnce) {
  TempDir dir;
  write(dir / "db", 500, 300);
  const auto held = LmdbReader::open(dir / "db");
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::string storage;
      bool right = true;
      // A folder of another name, so that the child opens its own environment beside the inherited one.
      fs::create_directory_symlink(dir / "db", dir / ("link" + std::to_string(i)));
      const auto reader = LmdbReader::open(dir / "db");
      for (int64_t k = 0; k < 500; ++k)
        right = right && reader->record(k, storage) == value_of(static_cast<int>(k), 300);
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(LmdbTest, CutOffAnywhere) {
  TempDir dir;
  write(dir / "whole", 60, 700);
  const std::string file = test::read_file((dir / "whole") + "/data.mdb");
  ASSERT_GT(file.size(), 40000u);
  fs::create_directory(dir / "cut");
  for (size_t length = 0; length < file.size(); length = length < 9000 ? length + 131 : length + 1009) {
    test::write_file((dir / "cut") + "/data.mdb", file.substr(0, length));
    const std::string error = read_all(dir / "cut", 700);
    EXPECT_NE(error.find(dir / "cut"), std::string::npos) << length << ": " << error;
  }
}

TEST(LmdbTest, ZeroesInsteadOfPages) {
  TempDir dir;
  write(dir / "db", 60, 700);
  std::string file = test::read_file((dir / "db") + "/data.mdb");
  std::fill(file.begin() + 8192, file.end(), '\0');
  fs::create_directory(dir / "holes");
  test::write_file((dir / "holes") + "/data.mdb", file);
  EXPECT_NE(read_all(dir / "holes", 700), "");
}

TEST(LmdbTest, WhatIsNoDatabase) {
  TempDir dir;
  test::write_file(dir / "file", "text");
  fs::create_directory(dir / "empty");
  fs::create_directory(dir / "text");
  test::write_file((dir / "text") + "/data.mdb", std::string(20000, 'x'));
  const auto cause = [&](const std::string& name) {
    const Error error = error_of([&] { LmdbReader::open(dir / name); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_FALSE(error.fix().empty());
    return error.cause();
  };
  EXPECT_EQ(cause("absent"), "the LMDB " + (dir / "absent") + " does not exist");
  EXPECT_EQ(cause("file"), "the LMDB " + (dir / "file") + " is a file, not a folder");
  EXPECT_EQ(cause("empty"), "the LMDB " + (dir / "empty") + " holds no data.mdb");
  EXPECT_NE(cause("text").find("is no LMDB"), std::string::npos);
}

TEST(LmdbTest, EmptyDatabase) {
  TempDir dir;
  LmdbWriter(dir / "db").finish();
  EXPECT_NE(read_all(dir / "db", 0).find("is empty"), std::string::npos);
}

TEST(LmdbTest, OpensWhatLiesThere) {
  TempDir dir;
  write(dir / "db", 3, 5);
  EXPECT_EQ(open_source(dir / "db", caffe::DataParameter::LEVELDB)->size(), 3);
  fs::create_directory(dir / "level");
  test::write_file((dir / "level") + "/CURRENT", "MANIFEST-000004\n");
  const Error error = error_of([&] { open_source(dir / "level", caffe::DataParameter::LMDB); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.location(), (dir / "level") + "/MANIFEST-000004");
}

TEST(LmdbWriterTest, RefusesAnExistingFolder) {
  TempDir dir;
  fs::create_directory(dir / "db");
  EXPECT_EQ(error_of([&] { LmdbWriter(dir / "db"); }).kind(), ErrorKind::kOutput);
  EXPECT_EQ(error_of([&] { LmdbWriter((dir / "none") + "/db"); }).kind(), ErrorKind::kOutput);
}

TEST(LmdbWriterTest, LeavesNothingUnfinished) {
  TempDir dir;
  {
    LmdbWriter writer(dir / "db");
    for (int i = 0; i < 1500; ++i) writer.put(padded(i, 8), "value");
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

/// What the writer says on a disk of 2 MB; "" where no such disk can be had.
std::string said_on_a_full_disk(const TempDir& dir) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string disk = dir / "disk";
    fs::create_directory(disk);
    const bool there = ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") == 0;
    if (!there) _exit(0);
    const Error error = error_of([&] {
      LmdbWriter writer(disk + "/db");
      const std::string value(10000, 'x');
      for (int i = 0; i < 5000; ++i) writer.put(padded(i, 8), value);
      writer.finish();
    });
    test::write_file(dir / "said", error.what());
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return fs::exists(dir / "said") ? test::read_file(dir / "said") : "";
}

TEST(LmdbWriterTest, AFullDiskIsCalledOne) {
  TempDir dir;
  const std::string said = said_on_a_full_disk(dir);
  if (said.empty()) GTEST_SKIP() << "no file systems can be mounted here";
  EXPECT_TRUE(said.find("No space left on device; free some space or write elsewhere") != std::string::npos) << said;
}

TEST(LmdbWriterTest, RefusesAKeyTwiceOrTooLong) {
  TempDir dir;
  const Error twice = error_of([&] {
    LmdbWriter writer(dir / "db");
    writer.put("a", "1");
    writer.put("a", "2");
    writer.finish();
  });
  EXPECT_EQ(twice.kind(), ErrorKind::kOutput);
  const Error longer = error_of([&] { LmdbWriter(dir / "db").put(std::string(600, 'k'), "1"); });
  EXPECT_EQ(longer.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

}  // namespace
}  // namespace robusta::lmdb_test
