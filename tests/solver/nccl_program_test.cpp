// `caffe train` on fake GPUs whose gradients a fake NCCL sums: as learners of one process and as ranks under mpirun.
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::nccl {
namespace {

class NcclProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!SimNccl::is_there()) GTEST_SKIP() << "no " << fake_nccl();
    const std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 random_seed: 1 max_iter: 5 "
               "snapshot_prefix: 'toy'");
    setenv("ROBUSTA_FAKE_NCCL_LOG", (folder_ / "calls").c_str(), 1);
    write_file(folder_ / "calls", "");
  }
  void TearDown() override { unsetenv("ROBUSTA_FAKE_NCCL_LOG"); }

  Finished learners(const std::string& ddl, const std::string& gpus = "0,1") {
    return run_caffe_program(folder_.path(), {"train", "-solver=solver.prototxt", "-gpu=" + gpus, "-ddl=" + ddl});
  }
  Finished ranks(int count, const std::string& ddl) {
    return run_ranks(folder_.path(), count, "train -solver solver.prototxt -gpu 0 -ddl '" + ddl + "'");
  }
  std::string weights() const { return read_file(folder_ / "toy_iter_5.caffemodel"); }
  /// How often the fake library was called so.
  std::ptrdiff_t calls(const std::string& what) const {
    const std::string log = read_file(folder_ / "calls");
    const std::regex regex("(^|\n)" + what);
    return std::distance(std::sregex_iterator(log.begin(), log.end(), regex), std::sregex_iterator());
  }

  TempDir folder_;
};

TEST_F(NcclProgram, LearnersUseItByThemselves) {
  const SimNccl gpus("2:64M:emulated");
  const Finished by_nccl = learners("-bucket_mb 0.0001");
  ASSERT_EQ(by_nccl.code, 0) << by_nccl.log;
  EXPECT_TRUE(contains(by_nccl.log, " buckets, NCCL 2.20.1 over 2 ranks")) << by_nccl.log;
  const std::string trained = weights();
  EXPECT_EQ(calls("connect"), 2);
  EXPECT_EQ(calls("abort"), 0);
  const Finished staged = learners("-bucket_mb 0.0001 -mode r:2");
  ASSERT_EQ(staged.code, 0) << staged.log;
  EXPECT_TRUE(contains(staged.log, "all of 2 ranks: ring")) << staged.log;
  EXPECT_EQ(trained, weights());
  EXPECT_EQ(calls("connect"), 2);
}

TEST_F(NcclProgram, TimesAreReported) {
  const SimNccl gpus("2:64M");
  const Finished done = learners("-mode n:2 -dump_iter 2");
  EXPECT_TRUE(matches(done.log, "all \\(2 ranks, within a host\\), NCCL: [0-9.e-]+ ms, [0-9.e-]+ MB sent")) << done.log;
}

TEST_F(NcclProgram, TroubleEndsLearnersWithACode) {
  for (const char* const trouble : {"error:1:2", "hang:0:2"}) {
    const SimNccl gpus("2:64M", trouble);
    const auto start = std::chrono::steady_clock::now();
    const Finished done = learners("-mode n:2 -timeout 1");
    EXPECT_EQ(done.code, 8) << done.log;
    EXPECT_TRUE(contains(done.log, "caffe: error: NCCL, ")) << done.log;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  }
  EXPECT_EQ(calls("connect"), 4);
  EXPECT_EQ(calls("abort"), 4);
}

TEST_F(NcclProgram, RanksOfOneHostUseIt) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const SimNccl gpus("4:64M");
  const Finished by_nccl = ranks(2, "-bucket_mb 0.0001");
  ASSERT_EQ(by_nccl.code, 0) << by_nccl.log;
  EXPECT_TRUE(contains(by_nccl.log, "NCCL 2.20.1 over 2 ranks")) << by_nccl.log;
  const std::string trained = weights();
  ASSERT_EQ(ranks(2, "-bucket_mb 0.0001 -mode r:2").code, 0);
  EXPECT_EQ(trained, weights());
  EXPECT_EQ(calls("connect"), 2);
  EXPECT_EQ(calls("abort"), 0);
  const Finished mixed = ranks(4, "-mode b:2x2 -compress fp16");
  ASSERT_EQ(mixed.code, 0) << mixed.log;
  EXPECT_TRUE(contains(mixed.log, "NCCL 2.20.1 over 2")) << mixed.log;
}

TEST_F(NcclProgram, AHangEndsRanks) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const SimNccl gpus("2:64M", "hang:1:2");
  const auto start = std::chrono::steady_clock::now();
  const Finished done = ranks(2, "-mode n:2 -timeout 2");
  EXPECT_EQ(done.code, 8) << done.log;
  EXPECT_TRUE(contains(done.log, "All 2 ranks end with code 8")) << done.log;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace robusta::test::nccl
