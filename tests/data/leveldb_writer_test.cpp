// LevelDBs that are written, read back by us; leveldb_test.cpp reads them with libleveldb.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/philox.h"
#include "data/convert/files.h"
#include "data/leveldb/leveldb_reader.h"
#include "data/leveldb/leveldb_writer.h"
#include "data/open_source.h"
#include "data/writer_kinds.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/log_lines.h"

namespace robusta::leveldb_writer_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::error_of;
using test::TempDir;

using LevelRecords = std::vector<std::pair<std::string, std::string>>;

LevelRecords all_of(const std::string& folder) {
  const auto reader = open_source(folder, caffe::DataParameter::LEVELDB);
  LevelRecords all;
  std::string storage;
  for (int64_t i = 0; i < reader->size(); ++i) all.emplace_back(reader->key(i), reader->record(i, storage));
  return all;
}

std::string value_of(int64_t i, size_t bytes) {
  std::string value(bytes, '\0');
  PhiloxStream random(static_cast<uint64_t>(i));
  for (char& c : value) c = static_cast<char>(random.below(256));
  return value;
}

/// Records of all sizes, those of no bytes and of more than a table's among them.
LevelRecords sample(int64_t count) {
  LevelRecords records;
  for (int64_t i = 0; i < count; ++i) {
    const size_t bytes = i % 10 == 3 ? 0 : i == 7 ? size_t{65} << 20 : static_cast<size_t>(i * i % 9000);
    records.emplace_back(padded(i, 8) + "_picture.png", value_of(i, bytes));
  }
  return records;
}

void write(const std::string& backend, const std::string& folder, const LevelRecords& records) {
  const auto writer = make_writer(backend, folder);
  for (const auto& [key, value] : records) writer->put(key, value);
  EXPECT_EQ(writer->size(), static_cast<int64_t>(records.size()));
  writer->finish();
}

TEST(LevelDbWriterTest, HoldsWhatAnLmdbHolds) {
  TempDir dir;
  const LevelRecords records = sample(400);
  write("leveldb", dir / "level", records);
  write("lmdb", dir / "lmdb", records);
  EXPECT_EQ(all_of(dir / "level"), records);
  EXPECT_EQ(all_of(dir / "lmdb"), records);
  const auto mode = fs::status(dir / "level").permissions();
  EXPECT_EQ(mode, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
}

TEST(LevelDbWriterTest, KeysInAnyOrder) {
  TempDir dir;
  std::map<std::string, std::string> want;
  LevelDbWriter writer(dir / "db");
  for (int64_t i = 0; i < 200; ++i) {
    const std::string key = std::to_string(i * 37 % 150);  // the last 50 are there already
    want[key] = value_of(i, 100);
    writer.put(key, want[key]);
  }
  writer.finish();
  EXPECT_EQ(all_of(dir / "db"), LevelRecords(want.begin(), want.end()));
}

TEST(LevelDbWriterTest, RefusesAKeyTwiceAndAnExistingFolder) {
  TempDir dir;
  const Error twice = error_of([&] {
    LevelDbWriter writer(dir / "db");
    writer.put("a", "1");
    writer.put("a", "2");
  });
  EXPECT_EQ(twice.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(twice.what(), "the LevelDB " + (dir / "db") + ": the key \"a\" comes twice"));
  EXPECT_TRUE(fs::is_empty(dir.path()));
  fs::create_directory(dir / "db");
  EXPECT_TRUE(contains(error_of([&] { LevelDbWriter(dir / "db"); }).what(), "exists already; remove it first"));
  EXPECT_TRUE(contains(error_of([&] { LevelDbWriter((dir / "none") + "/db"); }).what(), "create the folder that"));
  EXPECT_EQ(error_of([&] { make_writer("levledb", dir / "x"); }).what(),
            std::string("unknown database backend \"levledb\" (did you mean \"leveldb\"?); say lmdb or leveldb"));
}

TEST(LevelDbWriterTest, AnEmptyOneIsReadAsSuch) {
  TempDir dir;
  LevelDbWriter(dir / "db").finish();
  EXPECT_TRUE(contains(error_of([&] { all_of(dir / "db"); }).what(), "is empty"));
}

/// Writes until it is stopped.
[[noreturn]] void write_for_ever(const std::string& backend, const std::string& folder, int ready) {
  const auto writer = make_writer(backend, folder);
  for (int64_t i = 0;; ++i) {
    writer->put(padded(i, 8), std::string(1 << 20, 'x'));
    if (i == 70 && ::write(ready, "r", 1) != 1) _exit(1);
    if (i == 200) pause();
  }
}

TEST(NewFolderTest, NothingStandsAtTheNameOfAWriterThatWasKilled) {
  for (const std::string backend : {"lmdb", "leveldb"}) {
    TempDir dir;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) write_for_ever(backend, dir / "db", ends[1]);
    char byte;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]), ::close(ends[1]);
    EXPECT_FALSE(fs::exists(dir / "db")) << backend;
    EXPECT_FALSE(fs::is_empty(dir.path())) << "its temporary";
    test::LogLines lines;
    write(backend, dir / "db", {{"a", "1"}});
    EXPECT_TRUE(contains(lines.text(), "is unfinished: another run is writing it, or was killed"));
    EXPECT_EQ(all_of(dir / "db"), (LevelRecords{{"a", "1"}}));
  }
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
      LevelDbWriter writer(disk + "/db");
      const std::string value(10000, 'x');
      for (int i = 0; i < 5000; ++i) writer.put(padded(i, 8), value);
      writer.finish();
    });
    test::write_file(dir / "said", error.what());
    _exit(fs::is_empty(disk) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "something was left";
  return fs::exists(dir / "said") ? test::read_file(dir / "said") : "";
}

TEST(LevelDbWriterTest, AFullDiskIsCalledOne) {
  TempDir dir;
  const std::string said = said_on_a_full_disk(dir);
  if (said.empty()) GTEST_SKIP() << "no file systems can be mounted here";
  EXPECT_TRUE(
      contains(said, "the LevelDB " + (dir / "disk") + "/db: cannot write file: No space left on device; free"));
}

}  // namespace
}  // namespace robusta::leveldb_writer_test
