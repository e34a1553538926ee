// Our reader of LevelDBs against databases that libleveldb has written, and libleveldb against those of our writer.

#include <gtest/gtest.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <thread>

#include "base/crc32c.h"
#include "base/philox.h"
#include "data/convert/files.h"
#include "data/leveldb/level_bytes.h"
#include "data/leveldb/leveldb_reader.h"
#include "data/leveldb/leveldb_writer.h"
#include "data/open_source.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::leveldb_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::error_of;
using test::TempDir;

using Records = std::map<std::string, std::string>;

struct Form {
  leveldb::CompressionType compression = leveldb::kSnappyCompression;
  size_t write_buffer = size_t{4} << 20;
  bool compact = false;
};

/// A database that is open for writing.
class Writer {
 public:
  Writer(const std::string& folder, const Form& form = {}) : compact_(form.compact) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = form.compression;
    options.write_buffer_size = form.write_buffer;
    leveldb::DB* db = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(options, folder, &db).ok());
    db_.reset(db);
  }
  ~Writer() {
    if (compact_) db_->CompactRange(nullptr, nullptr);
  }
  void put(const std::string& key, const std::string& value) { EXPECT_TRUE(db_->Put({}, key, value).ok()); }
  void remove(const std::string& key) { EXPECT_TRUE(db_->Delete({}, key).ok()); }

 private:
  std::unique_ptr<leveldb::DB> db_;
  bool compact_;
};

/// Like a picture: it can be packed in part.
std::string noise(size_t bytes, uint64_t key) {
  std::string text(bytes, '\0');
  PhiloxStream random(key);
  for (char& c : text) c = static_cast<char>(random.below(key % 2 ? 256 : 4));
  return text;
}

void expect_records(const std::string& folder, const Records& want) {
  const auto reader = open_source(folder, caffe::DataParameter::LEVELDB);
  ASSERT_EQ(reader->size(), static_cast<int64_t>(want.size()));
  int64_t index = 0;
  std::string storage;
  for (const auto& [key, value] : want) {
    EXPECT_EQ(reader->key(index), key);
    EXPECT_EQ(reader->record(index, storage), value) << key;
    ++index;
  }
}

TEST(LevelDbTest, RecordsInTheOrderOfTheirKeys) {
  for (const auto compression : {leveldb::kNoCompression, leveldb::kSnappyCompression}) {
    for (const bool compact : {false, true}) {
      for (const size_t buffer : {size_t{64} << 10, size_t{4} << 20}) {
        TempDir dir;
        Records records;
        {
          Writer writer(dir / "db", {compression, buffer, compact});
          for (int i = 0; i < 700; ++i) {
            const std::string key = padded((i * 271) % 700, 8) + "_image";
            records[key] = noise(static_cast<size_t>(i % 50 == 0 ? 100000 : 300 + i), static_cast<uint64_t>(i));
            writer.put(key, records[key]);
          }
        }
        expect_records(dir / "db", records);
      }
    }
  }
}

TEST(LevelDbTest, LaterWritesHideEarlierOnes) {
  TempDir dir;
  Records records;
  for (int round = 0; round < 4; ++round) {
    Writer writer(dir / "db", {.write_buffer = 64 << 10, .compact = round == 1});
    for (int i = 0; i < 200; ++i) {
      const std::string key = padded(i, 4), value = noise(1000, static_cast<uint64_t>(1000 * round + i));
      if (i % 7 == round) {
        writer.remove(key);
        records.erase(key);
      } else if (i % 4 >= round) {
        writer.put(key, value);
        records[key] = value;
      }
    }
  }
  expect_records(dir / "db", records);
}

TEST(LevelDbTest, IsReadWhileItMayNotBeWrittenAndLeavesNoTrace) {
  TempDir dir;
  { Writer(dir / "db").put("a", "1"); }
  std::vector<std::string> before, after;
  for (const auto& entry : fs::directory_iterator(dir / "db")) before.push_back(entry.path());
  fs::permissions(dir / "db", fs::perms::owner_read | fs::perms::owner_exec);
  expect_records(dir / "db", {{"a", "1"}});
  fs::permissions(dir / "db", fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator(dir / "db")) after.push_back(entry.path());
  EXPECT_EQ(before, after);
}

/// What libleveldb finds, with every check it has, front to back.
Records read_by_libleveldb(const std::string& folder, const Records& want) {
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, folder, &opened);
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (!opened) return {};
  const std::unique_ptr<leveldb::DB> db(opened);
  std::string value;
  for (const auto& [key, wanted] : want) {
    EXPECT_TRUE(db->Get(checked, key, &value).ok() && value == wanted) << key;
  }
  EXPECT_TRUE(db->Get(checked, "zzz", &value).IsNotFound());
  Records found;
  const std::unique_ptr<leveldb::Iterator> at(db->NewIterator(checked));
  for (at->SeekToFirst(); at->Valid(); at->Next()) found[at->key().ToString()] = at->value().ToString();
  EXPECT_TRUE(at->status().ok()) << at->status().ToString();
  return found;
}

/// 150 MB, so that there are several tables; `descents`: how often the keys begin again, each time between those
/// before.
Records write_large(const std::string& folder, int descents) {
  Records records;
  LevelDbWriter writer(folder);
  for (int round = 0; round <= descents; ++round) {
    for (int i = 0; i < 3000; ++i) {
      const std::string key = padded(10 * i + round, 8) + "_image";
      const auto bytes = static_cast<size_t>(i % 3 == 0 ? i : 75000);
      records[key] = std::string(bytes, static_cast<char>('a' + (i + round) % 26));
      writer.put(key, records[key]);
    }
  }
  writer.finish();
  return records;
}

TEST(LevelDbTest, LibleveldbReadsWhatWeWrite) {
  for (const int descents : {0, 1}) {
    TempDir dir;
    const Records records = write_large(dir / "db", descents);
    expect_records(dir / "db", records);
    EXPECT_TRUE(read_by_libleveldb(dir / "db", records) == records);
    {
      Writer writer(dir / "db", {.compact = true});  // goes on with it, and merges all
      writer.put("more", "1");
    }
    Records more = records;
    more["more"] = "1";
    expect_records(dir / "db", more);
  }
}

TEST(LevelDbTest, ManyTablesMakeALongManifest) {
  TempDir dir;
  Records records;
  {
    LevelDbWriter writer(dir / "db");
    for (int i = 0; i < 700; ++i) {  // each begins a table
      const std::string key = padded(999 - i, 4) + std::string(60, 'k');
      writer.put(key, records[key] = padded(i, 3));
    }
    writer.finish();
  }
  ASSERT_GT(fs::file_size((dir / "db") + "/MANIFEST-000001"), 3u * 32768);
  EXPECT_TRUE(read_by_libleveldb(dir / "db", records) == records);
  expect_records(dir / "db", records);
}

TEST(LevelDbTest, ManyThreads) {
  TempDir dir;
  {
    Writer writer(dir / "db", {.write_buffer = 64 << 10});
    for (int i = 0; i < 500; ++i) writer.put(padded(i, 8), noise(500, static_cast<uint64_t>(i)));
  }
  const auto reader = LevelDbReader::open(dir / "db");
  EXPECT_EQ(reader, LevelDbReader::open(dir / "db"));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::string storage;
      for (int64_t i = 0; i < 500; ++i) {
        const int64_t index = (i * 7 + t * 100) % 500;
        wrong += reader->record(index, storage) != noise(500, static_cast<uint64_t>(index));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LevelDbTest, WhatIsNotThereOrEmpty) {
  TempDir dir;
  const auto refusal = [&] { return error_of([&] { LevelDbReader::open(dir / "db"); }); };
  EXPECT_TRUE(contains(refusal().cause(), "does not exist"));
  { Writer writer(dir / "db"); }
  EXPECT_TRUE(contains(refusal().cause(), "is empty"));
  for (const auto& entry : fs::directory_iterator(dir / "db")) {
    if (entry.path().filename().string().starts_with("MANIFEST")) fs::remove(entry.path());
  }
  EXPECT_EQ(refusal().kind(), ErrorKind::kData);
  ASSERT_TRUE(fs::remove(dir.path() / "db" / "CURRENT"));
  ASSERT_EQ(::mkfifo(((dir / "db") + "/CURRENT").c_str(), 0600), 0);
  EXPECT_EQ(refusal().location(), (dir / "db") + "/CURRENT");
}

/// Reads all there is; what is thrown has to be an Error{kData}, or {kUnsupported} for another kind of packing.
int64_t read_all(const std::string& folder) {
  int64_t read = 0;
  try {
    const auto reader = LevelDbReader::open(folder);
    std::string storage;
    for (int64_t i = 0; i < reader->size(); ++i) read += static_cast<int64_t>(reader->record(i, storage).size());
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::kData || error.kind() == ErrorKind::kUnsupported) << error.what();
  }
  return read;
}

TEST(LevelDbTest, EachByteChangedAndEachLengthCutOff) {
  TempDir dir;
  {
    Writer writer(dir / "db", {.compact = true});
    for (int i = 0; i < 30; ++i) writer.put(padded(i, 8), noise(20, static_cast<uint64_t>(i)));
  }
  { Writer(dir / "db").put("in a log", "value"); }
  const int64_t whole = read_all(dir / "db");
  ASSERT_GT(whole, 600);
  int noticed = 0, tried = 0;
  for (const auto& entry : fs::directory_iterator(dir / "db")) {
    const std::string path = entry.path(), content = test::read_file(path);
    if (content.empty() || entry.path().filename() == "LOG" || entry.path().filename() == "LOG.old") continue;
    for (size_t at = 0; at < content.size(); ++at) {
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ (at % 3 == 0 ? 0xff : 1 << at % 8));
      test::write_file(path, changed);
      noticed += read_all(dir / "db") != whole;
      test::write_file(path, content.substr(0, at));
      noticed += read_all(dir / "db") != whole;
      tried += 2;
    }
    test::write_file(path, content);
  }
  EXPECT_EQ(read_all(dir / "db"), whole);
  EXPECT_GT(noticed, tried * 3 / 4);
}

/// What checksums do not save us from: blocks of any bytes.
TEST(LevelBytesTest, UnpackingTakesAnyBytes) {
  std::string out;
  for (uint64_t key = 0; key < 20000; ++key) {
    std::string packed = noise(1 + key % 60, 2 * key + 1);
    packed[0] = static_cast<char>(packed[0] & 0x7f);
    if (unpack_snappy(packed, out)) {
      EXPECT_LE(out.size(), 32 * packed.size());
    }
  }
  EXPECT_TRUE(unpack_snappy(std::string("\x09\x04xy\x1a\x02\x00", 7), out));
  EXPECT_EQ(out, "xyxyxyxyx");
}

/// From the test vectors of RFC 3720, B.4.
TEST(LevelBytesTest, Checksums) {
  const auto unmasked = [](std::string_view bytes) {
    const uint32_t rotated = masked_crc(bytes) - 0xa282ead8;
    return rotated >> 17 | rotated << 15;
  };
  EXPECT_EQ(unmasked(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(unmasked(std::string(32, '\xff')), 0x62a8ab43u);
}

}  // namespace
}  // namespace robusta::leveldb_test
