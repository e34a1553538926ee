#include "solver/update/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "robusta/error.h"
#include "schema/read_text.h"

namespace robusta {
namespace {

SolverDef solver(const std::string& text) { return parse_solver("max_iter: 100\n" + text, "s.prototxt"); }

/// The rates of the first `count` iterations, with a constant loss.
std::vector<double> rates(const std::string& text, int count, double loss = 1) {
  const Schedule schedule(solver(text));
  PolicyState state;
  std::vector<double> rates;
  for (int t = 0; t < count; ++t) rates.push_back(schedule.rate(t, loss, state));
  return rates;
}

double rate(const std::string& text, int64_t t) {
  PolicyState state;
  return Schedule(solver(text)).rate(t, 1, state);
}

void expect_rates(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-7 * std::fabs(want[i])) << "iteration " << i;
}

TEST(LrPolicy, Fixed) { expect_rates(rates("base_lr: 0.25 lr_policy: 'fixed'", 2), {0.25, 0.25}); }

TEST(LrPolicy, Step) {
  expect_rates(rates("base_lr: 1 lr_policy: 'step' gamma: 0.5 stepsize: 2", 5), {1, 1, 0.5, 0.5, 0.25});
}

TEST(LrPolicy, StepRecomputesCurrentStep) {
  PolicyState state;
  Schedule(solver("base_lr: 1 lr_policy: 'step' gamma: 0.5 stepsize: 3")).rate(9, 1, state);
  EXPECT_EQ(state.current_step, 3);
}

TEST(LrPolicy, Exp) { expect_rates(rates("base_lr: 1 lr_policy: 'exp' gamma: 0.5", 4), {1, 0.5, 0.25, 0.125}); }

TEST(LrPolicy, Inv) {
  EXPECT_NEAR(rate("base_lr: 0.01 lr_policy: 'inv' gamma: 0.0001 power: 0.75", 180), 0.00986709, 5e-9);  // lenet log
}

TEST(LrPolicy, MultistepTakesOneStepPerIteration) {
  expect_rates(rates("base_lr: 1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 stepvalue: 1 stepvalue: 3", 5),
               {1, 0.5, 0.25, 0.125, 0.125});
}

TEST(LrPolicy, MultistepGoesOnFromItsStep) {
  const Schedule schedule(solver("base_lr: 1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 2 stepvalue: 4"));
  PolicyState saved{.current_step = 1};
  EXPECT_DOUBLE_EQ(schedule.rate(3, 1, saved), 0.5);
  PolicyState lost;  // a state without its step climbs back, one step per iteration
  EXPECT_DOUBLE_EQ(schedule.rate(5, 1, lost), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(6, 1, lost), 0.25);
}

TEST(LrPolicy, Poly) {
  EXPECT_NEAR(rate("base_lr: 0.5 lr_policy: 'poly' power: 2", 50), 0.125, 1e-9);
  EXPECT_NEAR(rate("base_lr: 0.5 min_lr: 0.1 lr_policy: 'poly' power: 1", 50), 0.3, 1e-8);
  EXPECT_NEAR(rate("base_lr: 0.5 lr_policy: 'poly' power: 0.5", 130), 0, 1e-12);  // beyond the end: no NaN
}

TEST(LrPolicy, Sigmoid) {
  EXPECT_NEAR(rate("base_lr: 1 lr_policy: 'sigmoid' gamma: 0.5 stepsize: 10", 10), 0.5, 1e-12);
  EXPECT_NEAR(rate("base_lr: 1 lr_policy: 'sigmoid' gamma: -0.5 stepsize: 10", 12), 1 / (1 + std::exp(1.0)), 1e-12);
}

TEST(LrPolicy, Cosine) {
  EXPECT_NEAR(rate("base_lr: 1 min_lr: 0.25 lr_policy: 'cosine'", 0), 1, 1e-12);
  EXPECT_NEAR(rate("base_lr: 1 min_lr: 0.25 lr_policy: 'cosine'", 50), 0.625, 1e-12);
  EXPECT_NEAR(rate("base_lr: 1 min_lr: 0.25 lr_policy: 'cosine'", 100), 0.25, 1e-12);
}

TEST(LrPolicy, Multifixed) {
  expect_rates(
      rates("lr_policy: 'multifixed' stagelr: 3 stagelr: 2 stagelr: 1 stageiter: 1 stageiter: 2 stageiter: 4", 6),
      {3, 3, 2, 1, 1, 1});
}

TEST(LrPolicy, PlateauStepsWhenTheLossStandsStill) {
  // The first loss is a new minimum at 0; then windows of 2 and 3 iterations pass without another.
  expect_rates(rates("base_lr: 1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 plateau_winsize: 3", 8),
               {1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25});
}

TEST(LrPolicy, PlateauWaitsWhileTheLossFalls) {
  const Schedule schedule(solver("base_lr: 1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2"));
  PolicyState state;
  for (int t = 0; t < 10; ++t) EXPECT_DOUBLE_EQ(schedule.rate(t, 10 - t, state), 1);
  EXPECT_EQ(state.iter_last_event, 9);
  EXPECT_FLOAT_EQ(state.minimum_loss, 1);
}

TEST(LrPolicy, PlateauDoesNotTakeRoundingForProgress) {
  // 0.1 is no float; the stored minimum must not be above the loss that made it.
  expect_rates(rates("base_lr: 1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2", 3, 0.1), {1, 1, 0.5});
}

TEST(LrPolicy, WarmUpIsLinearAndDoesNotShiftThePolicy) {
  expect_rates(rates("base_lr: 1 lr_policy: 'step' gamma: 0.5 stepsize: 5 warmup_iter: 4 warmup_start_lr: 0.2", 6),
               {0.2, 0.4, 0.6, 0.8, 1, 0.5});
}

TEST(LrPolicy, RampUpIsQuadratic) {
  expect_rates(rates("base_lr: 1 lr_policy: 'fixed' rampup_interval: 4", 5), {0, 1.0 / 16, 4.0 / 16, 9.0 / 16, 1});
}

TEST(LrPolicy, MinLrIsAFloor) {
  expect_rates(rates("base_lr: 1 min_lr: 0.3 lr_policy: 'exp' gamma: 0.5", 3), {1, 0.5, 0.3});
}

TEST(LrPolicy, MomentumPolicies) {
  const Schedule fixed(solver("base_lr: 1 lr_policy: 'fixed' momentum: 0.5"));
  EXPECT_NEAR(fixed.momentum(70, 1), 0.5, 1e-12);
  const Schedule poly(solver("base_lr: 1 lr_policy: 'fixed' momentum: 0.5 momentum_policy: 'poly' max_momentum: 0.75"));
  EXPECT_NEAR(poly.momentum(50, 1), 0.625, 1e-12);
  const Schedule opt(solver("base_lr: 1 lr_policy: 'fixed' momentum_policy: 'opt'"));
  EXPECT_NEAR(opt.momentum(0, 0.04), 0.81, 1e-12);
  const Schedule capped(solver("base_lr: 1 lr_policy: 'fixed' momentum_policy: 'opt' max_momentum: 0.5"));
  EXPECT_NEAR(capped.momentum(0, 0.04), 0.5, 1e-12);
}

TEST(LrPolicy, WeightDecayPolicies) {
  const Schedule poly(solver("base_lr: 1 lr_policy: 'fixed' weight_decay: 1 weight_decay_policy: 'poly'"));
  EXPECT_NEAR(poly.weight_decay(25), 0.75, 1e-12);
}

struct BadSchedule {
  const char* text;
  const char* where;    // file and line
  const char* message;  // a part of it
};

class BadLrPolicy : public testing::TestWithParam<BadSchedule> {};

TEST_P(BadLrPolicy, IsRefusedAtItsLine) {
  try {
    Schedule schedule(solver(GetParam().text));
    FAIL() << "accepted " << GetParam().text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    EXPECT_EQ(error.location(), GetParam().where);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadLrPolicy,
    testing::Values(
        BadSchedule{"base_lr: 1\nlr_policy: 'invv'", "s.prototxt:3", "did you mean \"inv\"?"},
        BadSchedule{"base_lr: 1", "s.prototxt", "unknown lr_policy \"\""},
        BadSchedule{"base_lr: 1\nlr_policy: 'step'\ngamma: 0.1\nstepsize: 0", "s.prototxt:5", "stepsize is 0"},
        BadSchedule{"base_lr: 1\nlr_policy: 'exp'\ngamma: -0.1", "s.prototxt:4", "negative"},
        BadSchedule{"base_lr: 1\nlr_policy: 'plateau'\ngamma: 0.1", "s.prototxt:3", "plateau_winsize"},
        BadSchedule{"lr_policy: 'multifixed'\nstagelr: 1\nstagelr: 2\nstageiter: 5", "s.prototxt:2", "2 stagelr for 1"},
        BadSchedule{"base_lr: 1\nlr_policy: 'cosine'\nmin_lr: 2", "s.prototxt:4", "above base_lr"},
        BadSchedule{"base_lr: 1\nlr_policy: 'fixed'\nmomentum_policy: 'pol'", "s.prototxt:4",
                    "did you mean \"poly\"?"}));

TEST(LrPolicy, PolyNeedsMaxIter) {
  EXPECT_THROW(Schedule(parse_solver("base_lr: 1 lr_policy: 'poly' power: 1", "s.prototxt")), Error);
}

}  // namespace
}  // namespace robusta
