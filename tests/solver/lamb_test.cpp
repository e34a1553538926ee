// LAMB against numbers worked out by hand: the step is m/(1 - b1^t) / (sqrt(v / (1 - b2^t)) + delta) + decay w, and
// w <- w - rate |w| / |step| step.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "device/sim/sim_device.h"
#include "solver/toy_solver.h"
#include "solver/update/trust.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

SolverDef lamb_solver(const std::string& text) {
  return parse_solver("lr_policy: 'fixed' type: 'LAMB' " + text, "lamb.prototxt");
}

/// One parameter of T and its histories.
template <typename T>
struct Bench {
  Bench(const std::string& text, std::vector<T> weights)
      : rule(make_update_rule(lamb_solver(text))),
        w(std::move(weights)),
        g(w.size()),
        mean(w.size()),
        squares(w.size()) {
    task.dtype = dtype_of<T>();
    task.count = static_cast<int64_t>(w.size());
    task.weights = w.data();
    task.gradient = g.data();
    task.history = histories;
    task.momentum = 0.5;
    task.adapts = true;
  }
  void apply(const std::vector<T>& gradient) {
    std::copy(gradient.begin(), gradient.end(), g.begin());
    rule->apply({&task, 1});
    ++task.iteration;
  }
  std::unique_ptr<UpdateRule> rule;
  std::vector<T> w, g, mean, squares;
  std::array<void*, 2> histories = {mean.data(), squares.data()};
  UpdateTask task;
};

/// Step 1: the gradient's sign and the decay, (1.75, 0), as long as 0.35 times the 5 of the weights.
TEST(Lamb, StepsByHand) {
  Bench<double> b("momentum2: 0.75 delta: 0", {3, 4});
  b.task.rate = 0.35, b.task.decay = 0.25;
  b.apply({2, -8});
  EXPECT_NEAR(b.w[0], 1.25, 1e-14);
  EXPECT_NEAR(b.w[1], 4, 1e-14);
  EXPECT_EQ(b.mean, (std::vector<double>{1, -4}));
  EXPECT_EQ(b.squares, (std::vector<double>{1, 16}));
  b.apply({1, 4});
  EXPECT_NEAR(b.w[0], 0.12535554310076957, 1e-14);
  EXPECT_NEAR(b.w[1], 3.0584156460699683, 1e-14);
}

TEST(Lamb, WithoutAdaptingItIsAdamW) {
  Bench<double> lamb("momentum2: 0.75 delta: 0.125", {2});
  lamb.task.adapts = false;
  lamb.task.rate = 0.5, lamb.task.decay = 0.25;
  lamb.apply({4});
  EXPECT_NEAR(lamb.w[0], 1.2651515151515151, 1e-14);
  lamb.apply({2});
  EXPECT_NEAR(lamb.w[0], 0.6835545159173311, 1e-14);
}

TEST(Lamb, ANormOfZeroLeavesTheStep) {
  Bench<double> zero("momentum2: 0.75 delta: 0", {0, 0});
  zero.task.rate = 0.5;
  zero.apply({3, -1});
  EXPECT_NEAR(zero.w[0], -0.5, 1e-14);
  EXPECT_NEAR(zero.w[1], 0.5, 1e-14);
  Bench<double> still("momentum2: 0.75 delta: 1", {3, 4});
  still.task.rate = 0.5;
  still.apply({0, 0});
  EXPECT_EQ(still.w, (std::vector<double>{3, 4}));
}

/// Sizes around the blocks of the sums, which several threads share.
TEST(Lamb, LargeParametersMoveByTheShareOfTheirNorm) {
  for (const size_t count : {size_t{65535}, size_t{65537}, size_t{300001}}) {
    std::vector<double> weights(count), gradient(count);
    for (size_t i = 0; i < count; ++i) {
      weights[i] = 1 + static_cast<double>(i % 7), gradient[i] = static_cast<double>(i % 5) - 2.5;
    }
    Bench<double> b("", weights);
    b.task.rate = 0.01, b.task.decay = 0.1;
    b.apply(gradient);
    double moved = 0, norm = 0;
    for (size_t i = 0; i < count; ++i) {
      moved += (b.w[i] - weights[i]) * (b.w[i] - weights[i]), norm += weights[i] * weights[i];
    }
    EXPECT_NEAR(std::sqrt(moved), 0.01 * std::sqrt(norm), 1e-12 * std::sqrt(norm)) << count;
  }
}

TEST(Lamb, TheEmulatedGpuAgrees) {
  for (const size_t count : {size_t{2}, size_t{4097}, size_t{70000}}) {
    std::vector<float> weights(count), gradient(count);
    for (size_t i = 0; i < count; ++i) {
      weights[i] = 0.5f + static_cast<float>(i % 7), gradient[i] = static_cast<float>(i % 5) - 2.5f;
    }
    Bench<float> host("", weights), gpu("", weights);
    SimDevice device(size_t{1} << 20);
    const auto stream = device.make_stream();
    std::vector<char> scratch(kTrustScratch);
    gpu.task.stream = stream.get();
    gpu.task.kernel_kind = "emulated";
    gpu.task.scratch = scratch.data();
    for (Bench<float>* b : {&host, &gpu}) {
      b->task.rate = 0.1, b->task.decay = 0.1;
      b->apply(gradient);
      b->apply(gradient);
    }
    for (size_t i = 0; i < count; ++i)
      ASSERT_NEAR(gpu.w[i], host.w[i], 2e-6 * std::abs(host.w[i])) << i << " of " << count;
  }
}

/// What decay_mult 0 leaves out of decay is not adapted either: its step is the rate along the gradient's sign.
TEST(Lamb, ParametersWithoutDecayAreNotAdapted) {
  auto solver = std::make_unique<Solver>(toy_def("type: 'LAMB' weight_decay: 0.01 max_iter: 5"), SolverOptions{});
  Net& net = solver->train_net();
  const Param &weights = *net.layer_params("ip1")[0], &bias = *net.layer_params("ip1")[1];  // decay_mult 1, 0
  const std::vector<float> w = net.blobs().read_param(weights), b = net.blobs().read_param(bias);
  solver->step(1);
  const auto length = [](const std::vector<float>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  std::vector<float> moved = net.blobs().read_param(weights);
  for (size_t i = 0; i < w.size(); ++i) moved[i] -= w[i];
  EXPECT_NEAR(length(moved), 0.02 * length(w), 1e-5);
  const std::vector<float> after = net.blobs().read_param(bias), gradient = net.blobs().read_param_diff(bias);
  for (size_t i = 0; i < b.size(); ++i) {
    const float sign = static_cast<float>(gradient[i] > 0) - static_cast<float>(gradient[i] < 0);
    if (sign == 0) continue;                                    // its unit was dropped
    EXPECT_NEAR(after[i], b[i] - 2 * 0.02f * sign, 1e-6) << i;  // lr_mult 2
  }
}

void expect_refused(const std::string& settings, const std::string& cause) {
  const Error error = error_of([&] { toy("type: 'LAMB' " + settings); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), cause)) << error.what();
  EXPECT_EQ(error.location(), "toy.prototxt:2");
}

TEST(Lamb, RefusesWhatMakesNoSense) {
  expect_refused("regularization_type: 'L1'", "regularization_type \"L1\" with solver type LAMB");
  expect_refused("local_lr_auto: true", "local_lr_auto with solver type LAMB");
  expect_refused("larc: true", "larc with solver type LAMB");
}

}  // namespace
}  // namespace robusta::test
