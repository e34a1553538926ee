// Two trainings and one prefix. Other machines are played by leases that name another boot.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "comm/host_name.h"
#include "solver/files/prefix_lock.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr LeaseTimes kQuick{.beat = milliseconds(20), .silence = milliseconds(400)};
constexpr LeaseTimes kWithoutLocks{.beat = milliseconds(20), .silence = milliseconds(400), .kernel_locks = false};

/// A process that has ended.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(PrefixLock, ASecondTrainingIsRefusedUntilTheFirstEnds) {
  const TempDir folder;
  const std::string prefix = folder / "net";
  std::optional<PrefixLock> first(prefix);
  const Error error = error_of([&] { PrefixLock second(prefix); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(error.what(), "process " + std::to_string(getpid()) + " on " + host_name()));
  EXPECT_TRUE(contains(error.what(), prefix));
  EXPECT_TRUE(contains(error.fix(), "snapshot_prefix of its own"));
  PrefixLock other(folder / "other");
  first.reset();
  EXPECT_FALSE(fs::exists(prefix + ".lock"));
  PrefixLock second(prefix);
}

/// Another process of one job whose ranks come and go is taken over at once, also where it hangs or is cut off, and
/// finds out before it writes again.
TEST(PrefixLock, TheNextFirstRankOfAJobTakesItOver) {
  const TempDir folder;
  const std::string prefix = folder / "net";
  PrefixLock first(prefix, {}, "abc");
  EXPECT_EQ(error_of([&] { PrefixLock other(prefix, {}, "xyz"); }).kind(), ErrorKind::kOutput);
  EXPECT_EQ(error_of([&] { PrefixLock other(prefix); }).kind(), ErrorKind::kOutput);
  PrefixLock second(prefix, {}, "abc");
  second.keep();
  EXPECT_EQ(error_of([&] { first.keep(); }).kind(), ErrorKind::kOutput);
  second.keep();
}

TEST(PrefixLock, LookingWhetherItIsHeldTakesNothing) {
  const TempDir folder;
  const std::string prefix = folder / "net";
  PrefixLock::refuse_if_held(prefix);
  EXPECT_FALSE(fs::exists(prefix + ".lock"));
  std::optional<PrefixLock> lock(prefix);
  const Error error = error_of([&] { PrefixLock::refuse_if_held(prefix); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(error.what(), "process " + std::to_string(getpid())));
  EXPECT_EQ(error_of([&] { PrefixLock::refuse_if_held(prefix, kWithoutLocks); }).kind(), ErrorKind::kOutput);
  lock->keep();
  lock.reset();
  PrefixLock::refuse_if_held(prefix);

  PrefixLease gone = own_lease();
  gone.process = dead_process();
  write_file(prefix + ".lock", lease_text(gone));
  PrefixLock::refuse_if_held(prefix);
  PrefixLock::refuse_if_held(prefix, kWithoutLocks);
  EXPECT_EQ(read_file(prefix + ".lock"), lease_text(gone)) << "it is for a training to take over";
}

/// A process that is killed removes nothing, and the kernel ends its lock.
TEST(PrefixLock, WhatAKilledProcessLeftIsTakenOver) {
  const TempDir folder;
  const std::string prefix = folder / "net";
  const pid_t child = fork();
  if (child == 0) {
    PrefixLock lock(prefix);
    _exit(fs::exists(prefix + ".lock") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(prefix + ".lock"));
  const PrefixLock lock(prefix);
  EXPECT_TRUE(contains(read_file(prefix + ".lock"), "process " + std::to_string(getpid())));
}

TEST(PrefixLock, GarbageIsTakenOver) {
  const TempDir folder;
  for (const std::string text : {"", "garbage", "host\nboot\n", "\0\0"}) {
    write_file(folder / "net.lock", text);
    const PrefixLock lock(folder / "net", kQuick);
  }
}

TEST(PrefixLock, WhatIsNoFileIsRefusedAndStays) {
  const TempDir folder;
  write_file(folder / "precious", "mine");
  fs::create_symlink("precious", folder / "net.lock");
  EXPECT_EQ(error_of([&] { PrefixLock lock(folder / "net"); }).kind(), ErrorKind::kOutput);
  EXPECT_EQ(read_file(folder / "precious"), "mine");
  fs::create_directory(folder / "other.lock");
  EXPECT_EQ(error_of([&] { PrefixLock lock(folder / "other"); }).kind(), ErrorKind::kOutput);
  ASSERT_EQ(mkfifo((folder / "pipe.lock").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { PrefixLock lock(folder / "pipe"); }).kind(), ErrorKind::kOutput);
}

/// Without locks of the kernel the process that the lease names decides.
TEST(PrefixLock, WithoutLocksALivingProcessIsRespected) {
  const TempDir folder;
  const PrefixLock first(folder / "net", kWithoutLocks);
  EXPECT_EQ(error_of([&] { PrefixLock second(folder / "net", kWithoutLocks); }).kind(), ErrorKind::kOutput);
}

TEST(PrefixLock, WithoutLocksADeadProcessIsNot) {
  const TempDir folder;
  PrefixLease lease = own_lease();
  lease.process = dead_process();
  write_file(folder / "net.lock", lease_text(lease));
  const PrefixLock lock(folder / "net", kWithoutLocks);
}

/// Process ids come again: the start tells the new bearer from the old one.
TEST(PrefixLock, WithoutLocksAnotherProcessOfThatNumberIsNot) {
  const TempDir folder;
  PrefixLease lease = own_lease();
  --lease.started;
  write_file(folder / "net.lock", lease_text(lease));
  const PrefixLock lock(folder / "net", kWithoutLocks);
}

PrefixLease elsewhere() {
  PrefixLease lease = own_lease();
  lease.host = "far-away";
  lease.boot = "another";
  return lease;
}

TEST(PrefixLock, AnotherMachineThatBeatsIsRespected) {
  const TempDir folder;
  PrefixLease lease = elsewhere();
  write_file(folder / "net.lock", lease_text(lease));
  std::atomic<bool> stop = false;
  std::thread beats([&] {
    while (!stop) {
      ++lease.beat;
      write_file(folder / "beaten", lease_text(lease));
      fs::rename(folder / "beaten", folder / "net.lock");
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  const Error error = error_of([&] { PrefixLock lock(folder / "net", kQuick); });
  stop = true;
  beats.join();
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(error.what(), "far-away"));
  EXPECT_TRUE(contains(read_file(folder / "net.lock"), "far-away"));
}

TEST(PrefixLock, AnotherMachineThatIsSilentIsNot) {
  const TempDir folder;
  write_file(folder / "net.lock", lease_text(elsewhere()));
  const auto start = std::chrono::steady_clock::now();
  const PrefixLock lock(folder / "net", kQuick);
  EXPECT_GE(std::chrono::steady_clock::now() - start, kQuick.silence);
  EXPECT_TRUE(contains(read_file(folder / "net.lock"), host_name()));
}

TEST(PrefixLock, ItBeats) {
  const TempDir folder;
  const PrefixLock lock(folder / "net", kQuick);
  const std::string before = read_file(folder / "net.lock");
  for (int i = 0; i < 1000 && read_file(folder / "net.lock") == before; ++i) std::this_thread::sleep_for(kQuick.beat);
  EXPECT_NE(read_file(folder / "net.lock"), before);
  EXPECT_EQ(read_file(folder / "net.lock").size(), before.size());
}

TEST(PrefixLock, AFileThatWasRemovedIsMadeAgain) {
  const TempDir folder;
  PrefixLock lock(folder / "net", kQuick);
  fs::remove(folder / "net.lock");
  lock.keep();
  EXPECT_TRUE(fs::exists(folder / "net.lock"));
  EXPECT_EQ(error_of([&] { PrefixLock second(folder / "net"); }).kind(), ErrorKind::kOutput);
}

TEST(PrefixLock, AFolderThatWasAwayIsTakenAgain) {
  for (const LeaseTimes& times : {kQuick, kWithoutLocks}) {
    const TempDir folder;
    fs::create_directory(folder / "a");
    PrefixLock lock(folder / "a/net", times);
    fs::rename(folder / "a", folder / "b");
    EXPECT_EQ(error_of([&] { lock.keep(); }).kind(), ErrorKind::kOutput);
    fs::rename(folder / "b", folder / "a");
    lock.keep();
    EXPECT_EQ(error_of([&] { PrefixLock second(folder / "a/net", times); }).kind(), ErrorKind::kOutput);
  }
}

/// As after a cut of the network that was longer than the lease.
TEST(PrefixLock, WhoLostItWritesNothing) {
  const TempDir folder;
  std::optional<PrefixLock> first(std::in_place, folder / "net", kQuick);
  fs::remove(folder / "net.lock");
  const PrefixLock second(folder / "net", kQuick);
  EXPECT_EQ(error_of([&] { first->keep(); }).kind(), ErrorKind::kOutput);
  first.reset();
  EXPECT_TRUE(fs::exists(folder / "net.lock")) << "what is the other's stays";
}

}  // namespace
}  // namespace robusta::test
