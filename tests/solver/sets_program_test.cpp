// -ddl "-sets": independent trainings in one launch, each with a solver of its own.
#include <gtest/gtest.h>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

class CaffeSets : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
    const std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    write_solver("a", "max_iter: 6 base_lr: 0.01");
    write_solver("b", "max_iter: 30 base_lr: 0.02");
  }
  void write_solver(const std::string& name, const std::string& settings) {
    write_file(folder_ / (name + ".prototxt"),
               "net: 'net.prototxt' lr_policy: 'fixed' random_seed: 1 "
               "display: 2 snapshot_prefix: '" +
                   name + "' " + settings);
  }
  Finished run(int ranks, const std::string& arguments) { return run_ranks(folder_.path(), ranks, arguments); }

  TempDir folder_;
};

TEST_F(CaffeSets, TrainWhatEachWouldTrainByItself) {
  const Finished both = run(3, "train -solver a.prototxt,b.prototxt -ddl='-sets 0-1,2' -log_json log.json");
  ASSERT_EQ(both.code, 0) << both.log;
  const std::string a = read_file(folder_ / "a_iter_6.caffemodel"), b = read_file(folder_ / "b_iter_30.caffemodel");
  EXPECT_TRUE(contains(read_file(folder_ / "log.set0.json"), "\"iter\": 4"));
  EXPECT_TRUE(contains(read_file(folder_ / "log.set1.json"), "\"iter\": 28"));
  EXPECT_TRUE(contains(both.log, "[set 0] Iteration 4")) << both.log;
  EXPECT_TRUE(contains(both.log, "[set 1] Iteration 28")) << both.log;

  ASSERT_EQ(run(2, "train -solver a.prototxt").code, 0);
  EXPECT_EQ(read_file(folder_ / "a_iter_6.caffemodel"), a);
  ASSERT_EQ(run_caffe_program(folder_.path(), {"train", "-solver=b.prototxt"}).code, 0);
  EXPECT_EQ(read_file(folder_ / "b_iter_30.caffemodel"), b);
}

/// The error of one ends it alone; the code is that of the launch.
TEST_F(CaffeSets, OneThatFailsLeavesTheOthersAlone) {
  for (const std::string sets : {"0,1-2", "0-1,2"}) {
    write_solver("a", "max_iter: 6 base_lr: 1e38");
    const Finished done = run(3, "train -solver a.prototxt,b.prototxt -ddl='-sets " + sets + "'");
    EXPECT_EQ(done.code, 6) << done.log;
    EXPECT_TRUE(contains(done.log, "is not finite")) << done.log;
    EXPECT_TRUE(contains(done.log, "[set 1] Iteration 28")) << done.log;
    EXPECT_TRUE(contains(done.log, "[set 1] Optimization Done.")) << done.log;
  }
}

TEST_F(CaffeSets, RefusesSetsThatDoNotFit) {
  const auto refusal = [&](const std::string& solvers, const std::string& sets) {
    const Finished done = run(3, "train -solver " + solvers + " -ddl='-sets " + sets + "'");
    EXPECT_EQ(done.code, 1) << done.log;
    return done.log;
  };
  EXPECT_TRUE(contains(refusal("a.prototxt,b.prototxt", "0,1"), "rank 2 is in none of them"));
  EXPECT_TRUE(contains(refusal("a.prototxt,b.prototxt", "0-1,1-2"), "rank 1 is in more than one"));
  EXPECT_TRUE(contains(refusal("a.prototxt,b.prototxt", "0,1-3"), "names rank 3, and there are 3"));
  EXPECT_TRUE(contains(refusal("a.prototxt", "0,1-2"), "-sets makes 2 of the ranks, and -solver names 1 solver"));
  EXPECT_TRUE(contains(refusal("a.prototxt,b.prototxt", "x"), "-sets x is not allowed"));
  const Finished alone = run_caffe_program(folder_.path(), {"train", "-solver=a.prototxt", "-ddl=-sets 0"});
  EXPECT_EQ(alone.code, 1);
  EXPECT_TRUE(contains(alone.log, "started by itself")) << alone.log;
}

}  // namespace
}  // namespace robusta::test
