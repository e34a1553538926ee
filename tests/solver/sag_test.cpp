// NVIDIA's SAG against numbers worked out by hand: h <- m h + (1 - m) g, w <- w - rate h.
#include <gtest/gtest.h>

#include <array>

#include "solver/toy_solver.h"
#include "solver/update/local_rates.h"

namespace robusta::test {
namespace {

SolverDef sag_solver(const std::string& text) {
  return parse_solver("lr_policy: 'fixed' type: 'SAG' " + text, "sag.prototxt");
}

TEST(Sag, StepsByHand) {
  double w = 2, g = 4, mean = 0;
  const std::array<void*, 1> histories = {&mean};
  UpdateTask task;
  task.dtype = DType::kF64;
  task.count = 1;
  task.weights = &w;
  task.gradient = &g;
  task.history = histories;
  task.rate = 0.5, task.momentum = 0.75, task.decay = 0.5;
  const auto rule = make_update_rule(sag_solver(""));
  rule->apply({&task, 1});
  EXPECT_DOUBLE_EQ(mean, 0.25 * (4 + 0.5 * 2));
  EXPECT_DOUBLE_EQ(w, 2 - 0.5 * 1.25);
  g = -2;
  rule->apply({&task, 1});
  EXPECT_DOUBLE_EQ(mean, 0.75 * 1.25 + 0.25 * (-2 + 0.5 * 1.375));
  EXPECT_DOUBLE_EQ(w, 1.375 - 0.5 * 0.609375);
}

/// Its history does not hold the rate, and moves by decay where lr_mult is 0.
TEST(Sag, AFrozenParametersHistoryMoves) {
  const auto rule = make_update_rule(sag_solver(""));
  EXPECT_EQ(rule->histories(), 1);
  EXPECT_TRUE(rule->history_moves_without_rate());
}

/// LARC looks at the history of the iteration before: |w| = 5, |h| = 2, whatever the gradient and the momentum are.
TEST(Sag, LarcGoesByTheHistory) {
  std::array<double, 2> weights = {3, -4}, gradient = {100, 100}, mean = {0, 2};
  std::array<void*, 1> histories = {mean.data()};
  Param param;
  param.desc = {Shape({2}), DType::kF64, nullptr};
  param.data = weights.data();
  param.diff = gradient.data();
  const auto stream = cpu_device().make_stream();
  NormReader norms(cpu_device(), *stream);
  const SolverDef solver = sag_solver("larc: true larc_eta: 0.5");
  const LocalRates rates(solver, *make_update_rule(solver));
  const LocalRates::Step step{.rate = 0.5, .momentum = 0.9, .weight_decay = 1, .gradient_scale = 0.25};
  const std::vector<Tensor> arrays = rates.arrays_of(param, {param.tensor(), param.gradient(), histories});
  EXPECT_DOUBLE_EQ(rates.of(param, step, norms.read(arrays)), 0.5 * 0.5 * 5 / 2);
  mean = {0, 0};  // before the first iteration
  EXPECT_DOUBLE_EQ(rates.of(param, step, norms.read(arrays)), 0.5);
}

TEST(Sag, TheOldEnumerationNamesItToo) {
  const SolverDef solver = parse_solver("lr_policy: 'fixed' solver_type: SAG", "sag.prototxt");
  EXPECT_EQ(solver.param.type(), "SAG");
  EXPECT_NE(make_update_rule(solver), nullptr);
}

}  // namespace
}  // namespace robusta::test
