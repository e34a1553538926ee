// Databases that somebody or something has damaged, before they are opened or while they are read: an error that names
// database and record, never a signal, whatever the bytes are.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "data/lmdb/lmdb_reader.h"
#include "data/lmdb/lmdb_writer.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::damaged_lmdb_test {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

constexpr size_t kPage = 4096;

/// Twenty-five records in leaves, every sixth with pages of its own: a branch, several leaves, overflow pages.
std::string sample_file(const TempDir& dir) {
  LmdbWriter writer(dir / "sample");
  for (int i = 0; i < 25; ++i)
    writer.put(padded(i, 8), std::string(i % 6 == 5 ? 5000 : 700, static_cast<char>('a' + i)));
  writer.finish();
  return test::read_file((dir / "sample") + "/data.mdb");
}

/// The pages that are no content of records: meta, branch and leaf pages.
std::vector<size_t> structure(const std::string& file) {
  std::vector<size_t> pages{0, 1};
  for (size_t page = 2; page < file.size() / kPage; ++page) {
    const char* at = file.data() + page * kPage;
    const bool of_tree = load_as<uint64_t>(at) == page && (lmdb_kind(at) == kLmdbBranch || lmdb_kind(at) == kLmdbLeaf);
    if (of_tree) pages.push_back(page);
  }
  return pages;
}

/// Reads each record and its key. Whatever is thrown must name the folder.
void read_all(const std::string& folder) {
  try {
    const auto reader = LmdbReader::open(folder);
    std::string storage;
    for (int64_t i = 0; i < reader->size(); ++i) {
      reader->record(i, storage);
      reader->key(i);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_NE(error.cause().find(folder), std::string::npos) << error.what();
  }
}

class Patched {
 public:
  Patched(const std::string& folder, const std::string& file) : path_(folder + "/data.mdb") {
    fs::create_directory(folder);
    test::write_file(path_, file);
    stream_.open(path_, std::ios::in | std::ios::out | std::ios::binary);
  }
  void put(size_t at, const std::string& bytes) {
    stream_.seekp(static_cast<std::streamoff>(at));
    stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    stream_.flush();
  }

 private:
  std::string path_;
  std::fstream stream_;
};

TEST(DamagedLmdbTest, AnyByteOfItsStructure) {
  TempDir dir;
  const std::string file = sample_file(dir);
  Patched patched(dir / "db", file);
  const std::vector<size_t> pages = structure(file);
  ASSERT_GE(pages.size(), 6u);
  for (const size_t page : pages) {
    for (size_t i = 0; i < kPage; ++i) {
      const size_t at = page * kPage + i;
      if (page < 2 && i > 160) break;                                                // behind the meta data
      if (i > 64 && file[at] == file[at - 1] && file[at] == file[at + 1]) continue;  // within a value
      for (const char flip : {'\x01', '\x40', '\xff'}) {
        patched.put(at, std::string(1, static_cast<char>(file[at] ^ flip)));
        read_all(dir / "db");
      }
      patched.put(at, std::string(1, file[at]));
    }
  }
}

TEST(DamagedLmdbTest, PageNumbersThatLeadInCircles) {
  TempDir dir;
  const std::string file = sample_file(dir);
  Patched patched(dir / "db", file);
  const std::vector<size_t> pages = structure(file);
  for (const size_t page : pages) {
    for (const size_t other : pages) {
      patched.put(page * kPage, file.substr(other * kPage, kPage));
      read_all(dir / "db");
    }
    patched.put(page * kPage, file.substr(page * kPage, kPage));
  }
}

TEST(DamagedLmdbTest, CutOffWhileItIsRead) {
  TempDir dir;
  const std::string file = sample_file(dir);
  for (size_t pages = 0; pages < file.size() / kPage; ++pages) {
    const std::string folder = dir / ("db" + std::to_string(pages));
    fs::create_directory(folder);
    test::write_file(folder + "/data.mdb", file);
    const auto reader = LmdbReader::open(folder);
    std::string storage;
    reader->record(0, storage);
    fs::resize_file(folder + "/data.mdb", pages * kPage + 100);
    std::string message;
    try {
      for (int64_t i = 0; i < reader->size(); ++i) reader->record(i, storage);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      message = error.cause();
    }
    EXPECT_NE(message.find("record "), std::string::npos) << message;
    EXPECT_NE(message.find("the LMDB " + folder + " is cut off: data.mdb ends at byte "), std::string::npos) << message;
  }
}

TEST(DamagedLmdbTest, WhatWasReadBeforeStays) {
  TempDir dir;
  std::string file = sample_file(dir);
  const std::vector<size_t> pages = structure(file);
  Patched patched(dir / "db", file);
  size_t last_leaf = 0;
  for (const size_t page : pages) {
    if (page > 1 && lmdb_kind(file.data() + page * kPage) == kLmdbLeaf) last_leaf = std::max(last_leaf, page);
  }
  patched.put(last_leaf * kPage, std::string(kPage, '\0'));
  const auto reader = LmdbReader::open(dir / "db");
  std::string storage;
  EXPECT_EQ(reader->record(0, storage), std::string(700, 'a'));
  for (int again = 0; again < 2; ++again) EXPECT_THROW(reader->record(24, storage), Error);
  EXPECT_EQ(reader->key(0), "00000000");
}

TEST(DamagedLmdbTest, NoRegularFile) {
  TempDir dir;
  fs::create_directory(dir / "db");
  ASSERT_EQ(mkfifo(((dir / "db") + "/data.mdb").c_str(), 0600), 0);
  EXPECT_THROW(LmdbReader::open(dir / "db"), Error);
}

/// Exit code and words of a command.
std::pair<int, std::string> run(const std::string& command, const std::string& log) {
  const int status = std::system((command + " > " + log + " 2>&1").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), test::read_file(log)};
}

TEST(DamagedLmdbTest, ProgramsNameDatabaseAndRecord) {
  TempDir dir;
  test::write_database(dir / "db", 40, [](int i) { return test::raw_datum({1, 28, 28}, i % 10, 1); });
  std::string file = test::read_file((dir / "db") + "/data.mdb");
  size_t last_leaf = 0;
  for (const size_t page : structure(file)) last_leaf = std::max(last_leaf, page);
  for (const size_t page : structure(file)) {  // all leaves but the first lose a size
    const char* at = file.data() + page * kPage;
    if (page < 2 || lmdb_kind(at) != kLmdbLeaf || load_as<uint16_t>(at + 12) < 18) continue;
    const size_t node = load_as<uint16_t>(at + 16);
    if (file.compare(page * kPage + node + 8, 8, "00000000") != 0) file[page * kPage + node + 2] = '\x7f';
  }
  test::write_file((dir / "db") + "/data.mdb", file);
  const auto expect_error = [&](const std::string& command) {
    const auto [code, said] = run(command, dir / "log");
    EXPECT_EQ(code, 3) << said;
    EXPECT_NE(said.find("the LMDB " + (dir / "db") + " is damaged"), std::string::npos) << said;
    EXPECT_NE(said.find("record 4"), std::string::npos) << said;
  };
  expect_error(test::tools_dir() + "/compute_image_mean " + (dir / "db"));
  test::write_file(dir / "net.prototxt",
                   "layer { name: 'd' type: 'Data' top: 'x' top: 'l' data_param { backend: LMDB source: '" +
                       (dir / "db") + "' batch_size: 8 } }\n" +
                       "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' "
                       "inner_product_param { num_output: 10 } }\n"
                       "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'l' }");
  test::write_file(dir / "solver.prototxt", "net: '" + (dir / "net.prototxt") +
                                                "' base_lr: 0.01 lr_policy: 'fixed' max_iter: 9 snapshot_prefix: '" +
                                                (dir / "s") + "'");
  expect_error(test::tools_dir() + "/caffe train -solver " + (dir / "solver.prototxt"));
}

}  // namespace
}  // namespace robusta::damaged_lmdb_test
