// HDF5 files with bytes changed and lengths cut off: numbers, or an Error{kData}, in little time and memory.
// In processes of their own: libhdf5 itself is not proof against every byte, and what it does not survive is counted.

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "data/hdf5_access.h"
#include "hdf5_files.h"
#include "robusta/error.h"
#include "support/files.h"
#include "support/sanitizers.h"

namespace robusta::hdf5_damaged_test {
namespace {

using test::counted_values;
using test::Hdf5Maker;
using test::TempDir;

/// Reads rows of both datasets. What is thrown has to be an Error{kData}.
bool survives(const std::string& path) {
  try {
    const auto rows = hdf5_access().open(path, {"data", "label"});
    std::vector<float> numbers(static_cast<size_t>(rows->items()[0].count() + rows->items()[1].count()));
    for (int64_t i = 0; i < std::min<int64_t>(rows->rows(), 8); ++i) rows->read(i, numbers.data());
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kData;
  }
  return true;
}

/// A file that is damaged in one way after the other.
class Damages {
 public:
  explicit Damages(std::string path) : path_(std::move(path)), content_(test::read_file(path_)) {}

  size_t size() const { return content_.size() / kStep; }
  void make(size_t number) const {
    constexpr int kFlips[] = {0xff, 0x01, 0x80};
    const size_t at = number * kStep, way = number % 4;
    std::string changed = content_;
    if (way < 3)
      changed[at] = static_cast<char>(changed[at] ^ kFlips[way]);
    else
      changed.resize(at);
    test::write_file(path_, changed);
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr size_t kStep = 3;  // bytes, so that the test is short
  std::string path_, content_;
};

/// In a child: goes on from `*at` until something is wrong.
[[noreturn]] void try_damages(const Damages& damages, size_t* at) {
  rlimit core{0, 0}, time{20, 20};
  setrlimit(RLIMIT_CORE, &core);
  setrlimit(RLIMIT_CPU, &time);
#if !ROBUSTA_ADDRESS_SANITIZER && !ROBUSTA_THREAD_SANITIZER
  rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  for (; *at < damages.size(); ++*at) {
    damages.make(*at);
    if (!survives(damages.path())) _exit(1);
  }
  _exit(0);
}

/// How many of them libhdf5 does not survive. All else is a failure.
int crashes_of(const Damages& damages) {
  void* const shared = mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const at = static_cast<size_t*>(shared);
  int crashes = 0;
  for (; *at < damages.size(); ++*at) {
    const pid_t child = fork();
    if (child == 0) try_damages(damages, at);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    const bool crashed = WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGABRT);
    crashes += crashed;
    EXPECT_TRUE(crashed) << "damage " << *at << ": status " << status;
  }
  munmap(shared, sizeof(size_t));
  return crashes;
}

#if ROBUSTA_ADDRESS_SANITIZER || ROBUSTA_THREAD_SANITIZER
#define SKIP_UNDER_A_SANITIZER() GTEST_SKIP() << "it sees and reports libhdf5's own faults before the system does"
#else
#define SKIP_UNDER_A_SANITIZER() static_cast<void>(0)
#endif

TEST(DamagedHdf5Test, InOnePiece) {
  SKIP_UNDER_A_SANITIZER();
  TempDir dir;
  {
    Hdf5Maker file(dir / "a.h5");
    file.add("data", {4, 2}, counted_values(8));
    file.add("label", {4}, counted_values(4));
  }
  ASSERT_TRUE(survives(dir / "a.h5"));
  EXPECT_LE(crashes_of(Damages(dir / "a.h5")), 2);  // 1.10.8: where the version of a layout becomes an old one
}

TEST(DamagedHdf5Test, InPackedChunks) {
  SKIP_UNDER_A_SANITIZER();
  TempDir dir;
  {
    Hdf5Maker file(dir / "a.h5");
    file.add("data", {4, 2}, counted_values(8), {H5T_IEEE_F64LE, {2, 2}, true});
    file.add("label", {4}, counted_values(4), {H5T_STD_I32LE, {2}});
  }
  ASSERT_TRUE(survives(dir / "a.h5"));
  EXPECT_LE(crashes_of(Damages(dir / "a.h5")), 8);
}

}  // namespace
}  // namespace robusta::hdf5_damaged_test
