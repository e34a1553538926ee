// -n_group and -n_server: processes that train, and processes that hold the parameters.
#include <gtest/gtest.h>
#include <signal.h>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

class CaffeServers : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
    const std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    write_solver("max_iter: 12 base_lr: 0.01");
  }
  void write_solver(const std::string& settings) {
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt' lr_policy: 'fixed' momentum: 0.9 random_seed: 1 display: 4 snapshot_prefix: 's' " +
                   settings);
  }
  Finished run(int ranks, const std::string& arguments) {
    return run_ranks(folder_.path(), ranks, "train -solver solver.prototxt " + arguments);
  }
  std::string model() { return read_file(folder_ / "s_iter_12.caffemodel"); }

  TempDir folder_;
};

TEST_F(CaffeServers, TrainInStepWhatRanksTrainByThemselves) {
  ASSERT_EQ(run(2, "").code, 0);
  const std::string synchronous = model();
  const Finished done = run(4, "-n_group 2 -n_server 2");
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_EQ(model(), synchronous);
  EXPECT_TRUE(contains(done.log, "2 servers hold the parameters for 2 groups, all in step")) << done.log;
}

TEST_F(CaffeServers, TrainApartToTheEnd) {
  const Finished done = run(4, "-n_group 3 -n_server 1 -ddl='-max_staleness 3 -compensate rate'");
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(contains(done.log, "gradients up to 3 rounds late")) << done.log;
  EXPECT_TRUE(contains(done.log, "Iteration 8")) << done.log;
  EXPECT_TRUE(contains(done.log, "Gradients came late, by updates of other groups: on average")) << done.log;
  EXPECT_FALSE(model().empty());
}

TEST_F(CaffeServers, OneLossThatIsNotFiniteEndsAll) {
  write_solver("max_iter: 12 base_lr: 1e38");
  for (const std::string apart : {"", " -ddl='-max_staleness 2'"}) {
    const Finished done = run(3, "-n_group 2 -n_server 1" + apart);
    EXPECT_EQ(done.code, 6) << done.log;
    EXPECT_TRUE(contains(done.log, "is not finite")) << done.log;
  }
}

TEST_F(CaffeServers, NumbersThatDoNotFitAreRefused) {
  const auto refusal = [](const Finished& done) {
    EXPECT_EQ(done.code, 1) << done.log;
    return done.log;
  };
  EXPECT_TRUE(contains(refusal(run(3, "-n_group 2 -n_server 2")), "3 ranks are not 2 equal groups (-n_group) and 2"));
  EXPECT_TRUE(contains(refusal(run(3, "-n_group 3")), "need servers that hold the parameters"));
  const Finished alone = run_caffe_program(folder_.path(), {"train", "-solver=solver.prototxt", "-n_server=1"});
  EXPECT_TRUE(contains(refusal(alone), "started by itself")) << alone.log;
}

}  // namespace
}  // namespace robusta::test
