// Ranks of one process on the CPU: caffe train -sockets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "comm/affinity/numa.h"
#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

class Sockets : public testing::Test {
 protected:
  void SetUp() override {
    const std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    solver("a", "max_iter: 7");
  }
  void solver(const std::string& prefix, const std::string& settings) {
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 random_seed: 1 display: 1 "
               "snapshot_prefix: '" +
                   prefix + "' " + settings);
  }
  Finished run(std::vector<std::string> more) {
    std::vector<std::string> args{"train", "-solver=solver.prototxt"};
    args.insert(args.end(), more.begin(), more.end());
    return run_caffe_program(folder_.path(), args);
  }
  TempDir folder_;
};

TEST_F(Sockets, RanksOfAProcessAreThoseOfALauncher) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished done = run({"-sockets=2"});
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.log, "2 ranks in this process")) << done.log;
  EXPECT_TRUE(matches(done.log, "rank 1  processors \\d")) << done.log;
  EXPECT_TRUE(matches(done.log, "Global batch 8 = 2 ranks x batch 4")) << done.log;
  EXPECT_FALSE(matches(done.log, "Iteration 3,.*[^]*Iteration 3,.*[^]*Iteration 3,")) << "one rank logs";
  solver("b", "max_iter: 7");
  ASSERT_EQ(run_ranks(folder_.path(), 2, "train -solver solver.prototxt").code, 0);
  EXPECT_EQ(read_file(folder_ / "a_iter_7.caffemodel"), read_file(folder_ / "b_iter_7.caffemodel"));
  solver("c", "max_iter: 7");
  ASSERT_EQ(run({}).code, 0);
  EXPECT_NE(read_file(folder_ / "a_iter_7.caffemodel"), read_file(folder_ / "c_iter_7.caffemodel"));
}

/// The mathematics of one rank: its batch is cut.
TEST_F(Sockets, AGlobalBatchIsDividedAmongThem) {
  const Finished done = run({"-sockets=2", "-batch=global"});
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.log, "Global batch 4 = 2 ranks x batch 2")) << done.log;
}

/// What each thread of a process may run on, as the kernel has it.
std::set<std::string> allowed_of_threads(pid_t process) {
  std::set<std::string> lists;
  std::error_code ended;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ended)) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      if (word == "Cpus_allowed_list:" && status >> word) lists.insert(word);
    }
  }
  return lists;
}

TEST_F(Sockets, EachRankKeepsToItsProcessors) {
  const Cores all = own_cores();
  if (all.count() < 2) GTEST_SKIP() << "there is one processor";
  solver("a", "max_iter: 100000000");
  CaffeProcess process(folder_.path(), {"train", "-solver=solver.prototxt", "-sockets=2"});
  ASSERT_TRUE(process.wait_for("Iteration 20,")) << process.log();
  const std::set<std::string> allowed = allowed_of_threads(process.id());
  for (const Cores& place : place_on_nodes(numa_nodes(all), 2))
    EXPECT_TRUE(allowed.contains(place.str())) << place.str();
}

TEST_F(Sockets, ASignalStopsAllWithASnapshotThatGoesOn) {
  solver("a", "max_iter: 100000000");
  CaffeProcess process(folder_.path(), {"train", "-solver=solver.prototxt", "-sockets=2"});
  ASSERT_TRUE(process.wait_for("Iteration 20,")) << process.log();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 0) << process.log();
  EXPECT_TRUE(matches(process.log(), "Optimization stopped early.")) << process.log();
  const Finished more = run({"-sockets=2", "-snapshot=auto", "-max_walltime=1"});
  EXPECT_EQ(more.code, 0) << more.log;
  EXPECT_TRUE(matches(more.log, "resuming from a_iter_\\d+")) << more.log;
}

TEST_F(Sockets, AnErrorEndsAllWithItsCode) {
  write_file(folder_ / "net.prototxt",
             "layer { name: 'd' type: 'Data' top: 'd' top: 'l' data_param { source: 'none' "
             "batch_size: 2 backend: LMDB } }");
  const Finished done = run({"-sockets=2"});
  EXPECT_EQ(done.code, 3) << done.log;
  EXPECT_TRUE(matches(done.log, "caffe: error: .*none")) << done.log;
  EXPECT_FALSE(matches(done.log, "caffe: error:[^]*caffe: error:")) << "it is told once";
}

TEST_F(Sockets, AutoIsOneRankPerNode) {
  const Finished done = run({"-sockets=auto"});
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.log, "-sockets auto: one rank on processors .* \\(1 NUMA node\\)|ranks in this process"))
      << done.log;
}

TEST_F(Sockets, UnderALauncherAreItsRanks) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished done = run_ranks(folder_.path(), 2, "train -solver solver.prototxt -sockets 2");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.log, "-sockets 2 changes nothing here: Open MPI's mpirun has started 2 ranks")) << done.log;
  EXPECT_TRUE(matches(done.log, "Global batch 8 = 2 ranks x batch 4")) << done.log;
}

TEST_F(Sockets, WhatCannotBeIsRefused) {
  for (const std::string value : {"0", "two", "-1", "2x", "1000"}) {
    const Finished done = run({"-sockets=" + value});
    EXPECT_EQ(done.code, 1) << done.log;
    EXPECT_TRUE(matches(done.log, "-sockets " + value + " is neither auto nor a number of ranks")) << done.log;
  }
  const Finished with_gpu = run({"-sockets=2", "-gpu=0"});
  EXPECT_EQ(with_gpu.code, 1);
  EXPECT_TRUE(matches(with_gpu.log, "-sockets is of ranks on the CPU, and -gpu asks for GPUs")) << with_gpu.log;
  ::setenv("OMP_PROC_BIND", "true", 1);
  const Finished bound = run({"-sockets=2"});
  ::unsetenv("OMP_PROC_BIND");
  EXPECT_EQ(bound.code, 1);
  EXPECT_TRUE(matches(bound.log, "binds those of all ranks to the same ones")) << bound.log;
}

}  // namespace
}  // namespace robusta::test
