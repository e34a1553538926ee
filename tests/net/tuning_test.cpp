// The tuner's memory of what it has chosen.

#include "net/tuning.h"

#include <dnnl.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include "base/str.h"
#include "device/cpu/processor.h"
#include "robusta/error.h"
#include "support/files.h"

namespace robusta::test {
namespace {

using Options = std::vector<std::string>;

/// Chooses once, with options whose cost is 2 ms each but for `fast`; counts what is run.
int choose(RecordingTuner& tuner, const Options& options, int fast, int& runs) {
  return tuner.choose("shape", options, [&](int option) {
    ++runs;
    if (option != fast) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
}

TEST(Tuner, RemembersInItsFile) {
  const TempDir folder;
  const std::string file = folder / "kernels";
  int runs = 0;
  {
    RecordingTuner tuner(file);
    EXPECT_EQ(choose(tuner, {"a", "b"}, 1, runs), 1);
    EXPECT_GT(runs, 0);
    EXPECT_EQ(tuner.choices().at("shape"), "b");
  }
  runs = 0;
  RecordingTuner again(file);
  EXPECT_EQ(choose(again, {"a", "b"}, 0, runs), 1);
  EXPECT_EQ(runs, 0);
}

TEST(Tuner, ABareNameIsAFileOfTheWorkingFolder) {
  const TempDir folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  int runs = 0;
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>("kernels"), {"a", "b"}, 1, runs), 1);
  runs = 0;
  RecordingTuner again("kernels");
  EXPECT_EQ(choose(again, {"a", "b"}, 0, runs), 1);
  std::filesystem::current_path(before);
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "kernels"));
}

TEST(Tuner, TimesAnewWhenThereAreOtherOptions) {
  const TempDir folder;
  const std::string file = folder / "kernels";
  int runs = 0;
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>(file), {"a", "b"}, 1, runs), 1);
  RecordingTuner later(file);
  EXPECT_EQ(choose(later, {"a", "b", "c"}, 2, runs), 2);
}

TEST(Tuner, TimesAnewWithAnotherOneDnn) {
  const TempDir folder;
  const std::string file = folder / "kernels";
  int runs = 0;
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>(file), {"a", "b"}, 1, runs), 1);

  const dnnl_version_t& version = *dnnl_version();
  std::string text = read_file(file);
  const std::string ours = str("/onednn", version.major, ".", version.minor, ".", version.patch, "/");
  ASSERT_NE(text.find(ours), std::string::npos) << text;
  write_file(file, text.replace(text.find(ours), ours.size(), "/onednn1.0.0/"));
  RecordingTuner later(file);
  EXPECT_EQ(choose(later, {"a", "b"}, 0, runs), 0);
}

/// Processors of one name may be of several generations.
TEST(Tuner, TimesAnewOnAnotherProcessor) {
  const TempDir folder;
  const std::string file = folder / "kernels";
  int runs = 0;
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>(file), {"a", "b"}, 1, runs), 1);
  std::string text = read_file(file);
  const std::string ours = str("/", processor_digest(), "/");
  ASSERT_NE(text.find(ours), std::string::npos) << text;
  write_file(file, text.replace(text.find(ours), ours.size(), "/0badcafe/"));
  RecordingTuner later(file);
  EXPECT_EQ(choose(later, {"a", "b"}, 0, runs), 0);
}

/// Whatever lies there, it is only a cache.
TEST(Tuner, NothingInItsFileDoesHarm) {
  const TempDir folder;
  const std::string file = folder / "kernels";
  choose(*std::make_unique<RecordingTuner>(file), {"a", "b"}, 1, *std::make_unique<int>());
  const std::string whole = read_file(file);
  std::string bytes(4096, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), bytes, bytes + "\n" + whole}) {
    write_file(file, text);
    int runs = 0;
    EXPECT_EQ(choose(*std::make_unique<RecordingTuner>(file), {"a", "b"}, 1, runs), 1);
    runs = 0;
    RecordingTuner again(file);
    EXPECT_EQ(choose(again, {"a", "b"}, 0, runs), 1) << "the choice was not kept";
    EXPECT_EQ(runs, 0);
  }
  int runs = 0;
  std::filesystem::create_directory(folder / "a folder");
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>(folder / "a folder"), {"a", "b"}, 1, runs), 1);
}

constexpr int kWriters = 4, kKeys = 20;

/// Each choice by a tuner of its own, which writes when it ends.
void write_some(const std::string& file, int writer, int keys = kKeys) {
  for (int key = 0; key < keys; ++key) {
    RecordingTuner tuner(file);
    tuner.choose(str("shape", writer, ".", key), {"only"}, [](int) {});
  }
}

void expect_all_kept(const std::string& text) {
  int lines = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line); ++lines) EXPECT_TRUE(line.ends_with(" only")) << line;
  EXPECT_EQ(lines, kWriters * kKeys);
}

TEST(Tuner, TwoThatWriteAtOnceLoseNothing) {
  const TempDir folder;
  const std::string file = folder / "kernels";
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) writers.emplace_back([&, i] { write_some(file, i); });
  for (std::thread& writer : writers) writer.join();
  expect_all_kept(read_file(file));
}

TEST(Tuner, TwoProcessesThatWriteAtOnceLoseNothing) {
  const TempDir folder;
  std::vector<pid_t> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.push_back(::fork());
    if (writers.back() != 0) continue;
    write_some(folder / "kernels", i);
    ::_exit(0);
  }
  for (const pid_t writer : writers) ::waitpid(writer, nullptr, 0);
  expect_all_kept(read_file(folder / "kernels"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1) << "something was left behind";
}

/// Who holds the lock and never lets go keeps nobody from training.
TEST(Tuner, WaitsForNobodyForLong) {
  const TempDir folder;
  const int lock = ::open((folder / "").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  write_some(folder / "kernels", 0, 1);
  ::close(lock);
  EXPECT_TRUE(read_file(folder / "kernels").ends_with(" only\n"));
}

/// Below what is no folder nothing can be written, not by root either.
TEST(Tuner, DoesWithoutAFileThatCannotBeWritten) {
  const TempDir folder;
  write_file(folder / "file", "");
  int runs = 0;
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>(folder / "file/kernels"), {"a", "b"}, 1, runs), 1);
  EXPECT_EQ(choose(*std::make_unique<RecordingTuner>("/proc/kernels"), {"a", "b"}, 1, runs), 1);
}

TEST(Tuner, ObeysThePresetWhateverTheOptions) {
  int runs = 0;
  RecordingTuner tuner("");
  tuner.preset({{"shape", "b"}});
  EXPECT_EQ(choose(tuner, {"a", "b", "c"}, 2, runs), 1);
  EXPECT_EQ(runs, 0);
}

TEST(Tuner, KeepsWhatItHasTimedBeforeItEnds) {
  const TempDir folder;
  RecordingTuner tuner(folder / "kernels");
  int runs = 0;
  choose(tuner, {"a", "b"}, 1, runs);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  tuner.choose("other", {"a", "b"}, [](int) {});
  runs = 0;
  RecordingTuner meanwhile(folder / "kernels");
  EXPECT_EQ(choose(meanwhile, {"a", "b"}, 0, runs), 1);
  EXPECT_EQ(runs, 0);
}

/// Nets of many layers begin in time: who comes late is timed less.
TEST(Tuner, TakesNoLongerThanItMayAltogether) {
  RecordingTuner tuner("", 0.1);
  int runs = 0;
  const auto run = [&](int) {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  };
  tuner.choose("shape", {"a", "b"}, run);
  EXPECT_GE(runs, 5);
  runs = 0;
  tuner.choose("late", {"a", "b"}, run);
  EXPECT_LE(runs, 3);
}

/// Milliseconds of an option's first run on a GPU, where it is planned, and of the others.
struct Planned {
  int first, others;
};

TEST(Tuner, OnAGpuPlanningCountsForNothing) {
  RecordingTuner tuner("");
  const std::vector<Planned> options = {
      {.first = 2, .others = 30}, {.first = 90, .others = 5}, {.first = 2, .others = 30}};
  std::vector<int> runs(3);
  const int chosen = tuner.choose(str(kGpuKeys, "91000/H100/shape"), {"a", "compiled", "c"}, [&](int option) {
    const auto i = static_cast<size_t>(option);
    const int delay = runs[i]++ == 0 ? options[i].first : options[i].others;
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
  });
  EXPECT_EQ(chosen, 1);
  // Who takes more than twice the time of the fastest has run once since it was planned.
  EXPECT_EQ(runs[0], 2);
  EXPECT_EQ(runs[2], 2);
}

TEST(Tuner, OnAGpuKeepsEachChoiceAtOnceForAnyProcessor) {
  const TempDir folder;
  RecordingTuner tuner(folder / "kernels");
  const std::string key = str(kGpuKeys, "91000/H100/shape");
  tuner.choose(key, {"a", "b"}, [](int option) { std::this_thread::sleep_for(std::chrono::milliseconds(2 * option)); });
  const std::string line = read_file(folder / "kernels");
  EXPECT_TRUE(line.starts_with("gpu/" + key)) << line;
  RecordingTuner meanwhile(folder / "kernels");
  EXPECT_EQ(meanwhile.choose(key, {"a", "b"}, [](int) { FAIL() << "is timed again"; }), 0);
}

TEST(Tuner, LeavesOutWhatDoesNotRun) {
  RecordingTuner tuner("");
  const auto run = [](int option) {
    if (option == 0) throw Error(ErrorKind::kUnsupported, "not here");
    if (option == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  EXPECT_EQ(tuner.choose("shape", {"a", "b", "c"}, run), 2);
  const auto fail = [](int) { throw Error(ErrorKind::kMemory, "full"); };
  EXPECT_THROW(tuner.choose("other", {"a", "b"}, fail), Error);
}

}  // namespace
}  // namespace robusta::test
