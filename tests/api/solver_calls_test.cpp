// Calls of a public solver in an order, or with numbers, that a training by `caffe` does not have.

#include <gtest/gtest.h>

#include <limits>

#include "robusta/solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

std::string toy(const std::string& prefix) {
  return "base_lr: 0.02 lr_policy: 'fixed' random_seed: 3 max_iter: 100 snapshot_prefix: '" + prefix + R"('
net_param {
  layer { name: "data" type: "DummyData" top: "data" top: "label"
    dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 2 }
      data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
    inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
})";
}

TEST(ApiSolverCallsTest, StepsDoNotOverflow) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s"));
  solver.step(1);
  solver.on_iteration([&](const IterationReport& now) {
    if (now.iteration == 3) solver.request_stop();
  });
  solver.step(std::numeric_limits<int>::max());
  EXPECT_EQ(solver.iteration(), 5) << "asked for after the fourth, it ends with the next";
}

TEST(ApiSolverCallsTest, ARestoreThatFailsForgetsNoRequest) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s"));
  solver.step(2);
  const SnapshotFiles files = solver.snapshot();
  solver.request_stop();
  EXPECT_EQ(error_of([&] { solver.restore(folder / "none.solverstate"); }).kind(), ErrorKind::kModel);
  solver.step(5);
  EXPECT_EQ(solver.iteration(), 3) << "the request ends it after one";
  solver.restore(files.state);
  solver.step(5);
  EXPECT_EQ(solver.iteration(), 7) << "a restored solver begins anew";
}

TEST(ApiSolverCallsTest, ALossThatIsNotFiniteIsForgottenWithItsIteration) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s"));
  solver.step(1);
  const std::vector<float> good = solver.net().read_parameter("ip", 0);
  const std::vector<float> bad(good.size(), std::numeric_limits<float>::infinity());
  for (const char* iteration : {"iteration 1", "iteration 3"}) {
    solver.net().write_parameter("ip", 0, bad);
    const Error error = error_of([&] { solver.step(1); });
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
    EXPECT_TRUE(contains(error.what(), iteration));
    solver.net().write_parameter("ip", 0, good);
    solver.step(2);
  }
  EXPECT_EQ(solver.iteration(), 5);
}

}  // namespace
}  // namespace robusta::test
