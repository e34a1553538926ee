// Limits of control groups, on pictures of /proc and /sys.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <limits>

#include "device/cpu/host_memory.h"
#include "support/files.h"

namespace robusta::test::host_memory_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMib = 1 << 20, kNoLimit = std::numeric_limits<size_t>::max();

class ControlGroups : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder_.path().string() + path).parent_path());
    write_file(folder_.path().string() + path, text);
  }
  void version_2(const std::string& group, const std::string& root = "/") {
    file("/proc/self/cgroup", "0::" + group + "\n");
    file("/proc/self/mountinfo",
         "25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
         "29 25 0:26 " +
             root + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void version_1(const std::string& group, const std::string& root = "/") {
    file("/proc/self/cgroup", "11:cpu,cpuacct:/other\n5:memory:" + group + "\n0::/unlimited\n");
    file("/proc/self/mountinfo", "33 32 0:29 " + root +
                                     " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                     "34 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  }
  void limit_2(const std::string& group, const std::string& most, size_t used, size_t files = 0) {
    file("/sys/fs/cgroup" + group + "/memory.max", most + "\n");
    file("/sys/fs/cgroup" + group + "/memory.current", std::to_string(used) + "\n");
    file("/sys/fs/cgroup" + group + "/memory.stat",
         "anon 1\nfile 5\ninactive_file " + std::to_string(files) + "\nactive_file 0\n");
  }
  void limit_1(const std::string& group, size_t most, size_t used) {
    file("/sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes", std::to_string(most) + "\n");
    file("/sys/fs/cgroup/memory" + group + "/memory.usage_in_bytes", std::to_string(used) + "\n");
  }
  size_t left() const { return control_groups_leave(folder_.path().string()); }

  TempDir folder_;
};

TEST_F(ControlGroups, NoneIsNoLimit) { EXPECT_EQ(left(), kNoLimit); }

TEST_F(ControlGroups, TheProcessOwnGroupCounts) {
  version_2("/system.slice/job.service");
  limit_2("/system.slice/job.service", std::to_string(400 * kMib), 100 * kMib);
  EXPECT_EQ(left(), 300 * kMib);
}

/// As Slurm has it: the limit is the job's, the process lies two groups below.
TEST_F(ControlGroups, AGroupAboveCounts) {
  version_2("/slurm/job_1/step_0/task_0");
  limit_2("/slurm/job_1", std::to_string(200 * kMib), 50 * kMib);
  limit_2("/slurm/job_1/step_0", "max", 50 * kMib);
  limit_2("/slurm/job_1/step_0/task_0", std::to_string(500 * kMib), 50 * kMib);
  EXPECT_EQ(left(), 150 * kMib);
}

TEST_F(ControlGroups, TheRootOfAContainerCounts) {
  version_2("/");
  limit_2("", std::to_string(64 * kMib), kMib);
  EXPECT_EQ(left(), 63 * kMib);
}

TEST_F(ControlGroups, VersionOneCounts) {
  version_1("/slurm/uid_0/job_1/step_0");
  limit_1("/slurm/uid_0/job_1", 200 * kMib, 50 * kMib);
  limit_1("/slurm/uid_0/job_1/step_0", size_t{1} << 62, 50 * kMib);
  EXPECT_EQ(left(), 150 * kMib);
}

/// A container sees its own group as the root of the mount, and the name that the host gives it.
TEST_F(ControlGroups, AMountOfAGroupAloneIsUnderstood) {
  version_1("/docker/0123/inner", "/docker/0123");
  limit_1("", 300 * kMib, 0);
  limit_1("/inner", 200 * kMib, 50 * kMib);
  EXPECT_EQ(left(), 150 * kMib);
  version_1("/elsewhere", "/docker/0123");
  EXPECT_EQ(left(), 300 * kMib);
}

TEST_F(ControlGroups, FilesInMemoryAreFree) {
  version_2("/job");
  limit_2("/job", std::to_string(100 * kMib), 100 * kMib, 60 * kMib);
  EXPECT_EQ(left(), 60 * kMib);
}

TEST_F(ControlGroups, NothingIsLeftBeyondTheLimit) {
  version_2("/job");
  limit_2("/job", std::to_string(100 * kMib), 120 * kMib);
  EXPECT_EQ(left(), 0u);
}

TEST_F(ControlGroups, GarbageIsNoLimit) {
  version_2("/job");
  limit_2("/job", "much", 0);
  EXPECT_EQ(left(), kNoLimit);
  file("/proc/self/cgroup", "garbage\n::\n:\n");
  file("/proc/self/mountinfo", "garbage\n\n- cgroup2\n");
  EXPECT_EQ(left(), kNoLimit);
}

TEST(HostMemory, KnowsTheLimitOfAddresses) {
  const pid_t child = fork();
  if (child == 0) {
    size_t pages = 0;
    FILE* const statm = std::fopen("/proc/self/statm", "r");
    if (!statm || std::fscanf(statm, "%zu", &pages) != 1) _exit(2);
    const size_t limit = pages * 4096 + 50 * kMib;
    const struct rlimit as = {limit, limit};
    setrlimit(RLIMIT_AS, &as);
    _exit(available_host_memory() <= 50 * kMib ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace robusta::test::host_memory_test
