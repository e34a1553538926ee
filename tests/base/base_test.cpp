#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/limit.h"
#include "base/nearest.h"
#include "base/philox.h"
#include "base/standard_streams.h"
#include "base/temporary.h"
#include "base/utf8.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::base_test {
namespace {

namespace fs = std::filesystem;

/// 0: the descriptor is closed.
ino_t inode_of(int fd) {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

TEST(Utf8, WhatIsNoneIsReplacedByteByByte) {
  const std::string bad = "\xef\xbf\xbd";
  const std::string whole = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  EXPECT_EQ(as_utf8(whole), whole);
  EXPECT_EQ(as_utf8(""), "");
  EXPECT_EQ(as_utf8("ip\xe9"), "ip" + bad);
  EXPECT_EQ(as_utf8("\xe9z"), bad + "z");
  EXPECT_EQ(as_utf8("\xe2\x82"), bad + bad);                      // cut off
  EXPECT_EQ(as_utf8("\xc0\xaf"), bad + bad);                      // overlong
  EXPECT_EQ(as_utf8("\xe0\x80\xaf"), bad + bad + bad);            // overlong
  EXPECT_EQ(as_utf8("\xed\xa0\x80"), bad + bad + bad);            // half a pair
  EXPECT_EQ(as_utf8("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // beyond the last character
  EXPECT_EQ(as_utf8("\xff"), bad);
}

TEST(Limit, AVariableSetsAnotherOne) {
  constexpr const char* kVariable = "ROBUSTA_TEST_LIMIT";
  ::unsetenv(kVariable);
  EXPECT_EQ(limit_from(kVariable, 7), 7);
  ::setenv(kVariable, "", 1);
  EXPECT_EQ(limit_from(kVariable, 7), 7);
  ::setenv(kVariable, "123456789012", 1);
  EXPECT_EQ(limit_from(kVariable, 7), 123456789012);
  for (const char* text : {"0", "-1", "many", "1e9", "5 ", "99999999999999999999"}) {
    ::setenv(kVariable, text, 1);
    const Error error = error_of([&] { limit_from(kVariable, 7); });
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
    EXPECT_TRUE(contains(error.what(), kVariable));
  }
  ::unsetenv(kVariable);
}

TEST(StandardStreams, ClosedOnesAreFilledAndOthersStay) {
  const pid_t child = fork();
  if (child == 0) {
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
    const ino_t out = inode_of(STDOUT_FILENO);
    keep_standard_streams();
    const bool right = inode_of(STDIN_FILENO) == inode_of(STDERR_FILENO) && inode_of(STDIN_FILENO) != 0 &&
                       inode_of(STDOUT_FILENO) == out;
    const int next = ::open("/dev/null", O_RDONLY);
    _exit(right && next > STDERR_FILENO ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// The known answers that Random123 publishes with the generator.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysDependOnSeedLayerAndPurpose) {
  const uint64_t key = random_key(1, "drop", "mask");
  EXPECT_EQ(key, random_key(1, "drop", "mask"));
  for (const uint64_t other : {random_key(2, "drop", "mask"), random_key(1, "dro", "pmask"),
                               random_key(1, "drop", "crop"), random_key(1, "dropm", "ask")}) {
    EXPECT_NE(key, other);
  }
}

TEST(Philox, BelowReachesEveryNumberAndNoOther) {
  PhiloxStream random(7);
  std::vector<int> seen(5);
  for (int i = 0; i < 5000; ++i) ++seen.at(random.below(5));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Philox, NormalsHaveMeanZeroAndVarianceOne) {
  PhiloxStream random(9);
  double sum = 0, squares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(squares / kDraws, 1, 0.05);
}

/// Draws `before` numbers one by one, then `count` at once, then one more.
template <typename One, typename Many>
std::vector<double> drawn(int before, int64_t count, const One& one, const Many& many) {
  PhiloxStream random(11);
  std::vector<double> draws;
  for (int i = 0; i < before; ++i) draws.push_back(one(random));
  std::vector<double> at_once(static_cast<size_t>(count));
  many(random, count, [&](int64_t i, double draw) { at_once[static_cast<size_t>(i)] = draw; });
  draws.insert(draws.end(), at_once.begin(), at_once.end());
  draws.push_back(one(random));
  return draws;
}

TEST(Philox, ManyDrawsAreThoseThatComeOneByOne) {
  const auto uniform = [](PhiloxStream& random) { return random.uniform(); };
  const auto normal = [](PhiloxStream& random) { return random.normal(); };
  const auto uniforms = [](PhiloxStream& random, int64_t n, const auto& put) { random.uniforms(n, put); };
  const auto normals = [](PhiloxStream& random, int64_t n, const auto& put) { random.normals(n, put); };
  const auto one_by_one = [](const auto& one) {
    return [&one](PhiloxStream& random, int64_t n, const auto& put) {
      for (int64_t i = 0; i < n; ++i) put(i, one(random));
    };
  };
  for (const int before : {0, 1, 2, 3}) {
    for (const int64_t count : {0, 1, 2, 7, 20001}) {
      EXPECT_EQ(drawn(before, count, uniform, uniforms), drawn(before, count, uniform, one_by_one(uniform)));
      EXPECT_EQ(drawn(before, count, normal, normals), drawn(before, count, normal, one_by_one(normal)));
    }
  }
}

TEST(Nearest, CountsEditsWhateverTheCase) {
  EXPECT_EQ(edit_distance("pooling", "Pooling"), 0);
  EXPECT_EQ(edit_distance("conv", "covn"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kernel", "kernal_"), 2);
}

TEST(Nearest, OffersOnlyWhatIsNear) {
  EXPECT_EQ(nearest("Convolutoin", {"Deconvolution", "Convolution", "Concat"}), "Convolution");
  EXPECT_EQ(nearest("zzz", {"Convolution", "Concat"}), "");
  EXPECT_EQ(did_you_mean("stopp", {"stop", "snapshot"}), " (did you mean \"stop\"?)");
  EXPECT_EQ(did_you_mean("unlike", {"stop"}), "");
}

TEST(Error, KeepsWhatTheInnerLevelSaid) {
  Error error(ErrorKind::kConfig, "kernel_size 5 exceeds input height 3", "use a smaller one");
  error.in_field("kernel_size").in_layer("conv1").at("net.prototxt:7");
  error.in_layer("outer").at("other:1");
  EXPECT_STREQ(error.what(),
               "net.prototxt:7: layer \"conv1\": kernel_size 5 exceeds input height 3; use a smaller one");
  EXPECT_EQ(error.exit_code(), 2);
}

TEST(Hash, SeesEveryByteAndTheLength) {
  std::string bytes(77, 'x');
  const uint64_t hash = hash_bytes(bytes);
  for (char& byte : bytes) {
    byte ^= 1;
    EXPECT_NE(hash_bytes(bytes), hash);
    byte ^= 1;
  }
  EXPECT_EQ(hash_bytes(bytes), hash);
  EXPECT_NE(hash_bytes(bytes + '\0'), hash);
  EXPECT_NE(hash_bytes(std::string(32, '\0')), hash_bytes(std::string(64, '\0')));
}

size_t files_in(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

TEST(AtomicFile, ReplacesTheOldOneWhole) {
  const TempDir folder;
  for (const std::string text : {"first", "the second one"}) {
    write_file_atomically(folder / "file", [&](int fd) { write_all(fd, text.data(), text.size()); });
    EXPECT_EQ(read_file(folder / "file"), text);
  }
  EXPECT_EQ(files_in(folder / ""), 1u);
}

TEST(AtomicFile, AFailureLeavesTheOldOneAndNothingElse) {
  const TempDir folder;
  write_file_atomically(folder / "file", [&](int fd) { write_all(fd, "old", 3); });
  const Error error = error_of([&] {
    write_file_atomically(folder / "file", [&](int fd) {
      write_all(fd, "half", 4);
      throw Error(ErrorKind::kOutput, "the disk is full");
    });
  });
  EXPECT_TRUE(contains(error.what(), "the disk is full"));
  EXPECT_EQ(read_file(folder / "file"), "old");
  EXPECT_EQ(files_in(folder / ""), 1u);
}

/// As a writer leaves it that died, the given time ago.
void leave_temporary(const std::string& path, std::chrono::minutes ago) {
  write_file(path, "half");
  fs::last_write_time(path, fs::file_time_type::clock::now() - ago);
}

TEST(AtomicFile, WhatADeadWriterLeftIsRemoved) {
  using std::chrono::minutes;
  const TempDir folder;
  const std::string random = "a.tmp.0123456789abcdef";
  for (const char* name : {"a.tmp.77", random.c_str(), "b.tmp.77", "a.tmp.77x", "a.tmp.", ".tmp.77", "a"}) {
    leave_temporary(folder / name, minutes(5));
  }
  leave_temporary(folder / "a.tmp.78", minutes(0));
  const auto is_ours = [](const std::string& name) { return name != "b"; };
  EXPECT_EQ(remove_abandoned(folder / "", is_ours), (std::vector<std::string>{random, "a.tmp.77"}));
  EXPECT_FALSE(fs::exists(folder / "a.tmp.77"));
  EXPECT_EQ(files_in(folder / ""), 6u);
  EXPECT_TRUE(remove_abandoned(folder / "not/there", is_ours).empty());
}

TEST(AtomicFile, WhatIsBeingWrittenIsNotRemoved) {
  const TempDir folder;
  write_file_atomically(folder / "a", [&](int fd) {
    write_all(fd, "new", 3);
    const std::string temporary = fs::directory_iterator(folder.path())->path();
    ASSERT_TRUE(contains(temporary, "a.tmp."));
    fs::last_write_time(temporary, fs::file_time_type::clock::now() - std::chrono::hours(1));
    EXPECT_TRUE(remove_abandoned(folder / "", [](const std::string&) { return true; }).empty());
  });
  EXPECT_EQ(read_file(folder / "a"), "new");
}

TEST(AtomicFile, NamesTheFolderThatIsNotThere) {
  const TempDir folder;
  const Error error = error_of([&] { write_file_atomically(folder / "no/file", [](int) {}); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(error.what(), folder / "no/file"));
  EXPECT_EQ(files_in(folder / ""), 0u);
}

TEST(AtomicFile, WhatCannotBeWrittenLaterIsNamedAtOnce) {
  const TempDir folder;
  const Error prefix = error_of([&] { require_writable_prefix("things with prefix", folder / "no/prefix"); });
  EXPECT_EQ(prefix.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(prefix.cause(), "cannot write things with prefix " + (folder / "no/prefix") + ": No such file"));
  EXPECT_TRUE(contains(prefix.fix(), "create the folder"));
  const Error file = error_of([&] { require_writable_file("the thing", folder / "no/file"); });
  EXPECT_TRUE(contains(file.cause(), "cannot write the thing " + (folder / "no/file") + ": No such file"));
  const Error is_folder = error_of([&] { require_writable_file("the thing", folder / ""); });
  EXPECT_EQ(is_folder.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(is_folder.cause(), "cannot write the thing"));
  EXPECT_TRUE(contains(is_folder.fix(), "name a file"));
  require_writable_prefix("things with prefix", folder / "prefix");
  require_writable_file("the thing", folder / "file");
  EXPECT_EQ(files_in(folder / ""), 0u);
}

}  // namespace
}  // namespace robusta::test::base_test
