// AdamW against numbers worked out by hand from PyTorch's formula (torch.optim.AdamW): w <- w (1 - lr wd), then
// w <- w - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
#include <gtest/gtest.h>

#include <array>

#include "device/sim/sim_device.h"
#include "robusta/error.h"
#include "schema/read_text.h"
#include "solver/update/update_rule.h"

namespace robusta {
namespace {

SolverDef adamw_solver(const std::string& text) {
  return parse_solver("lr_policy: 'fixed' type: 'AdamW' " + text, "s.prototxt");
}

/// The weight after each gradient in turn.
template <typename T>
std::vector<double> weights_after(const std::string& text, double weight, const std::vector<double>& gradients,
                                  UpdateTask task) {
  const auto rule = make_update_rule(adamw_solver(text));
  T w = static_cast<T>(weight), g = 0, mean = 0, squares = 0;
  const std::array<void*, 2> histories = {&mean, &squares};
  task.dtype = dtype_of<T>();
  task.count = 1;
  task.weights = &w;
  task.gradient = &g;
  task.history = histories;
  std::vector<double> weights;
  for (const double gradient : gradients) {
    g = static_cast<T>(gradient);
    rule->apply({&task, 1});
    ++task.iteration;
    weights.push_back(w);
  }
  return weights;
}

UpdateTask task_of(double rate, double momentum, double decay) {
  UpdateTask task;
  task.rate = rate;
  task.momentum = momentum;
  task.decay = decay;
  return task;
}

/// Step 1: 2 * 0.875 - 0.5 * 4 / (4 + 0.125).
TEST(AdamW, StepsByHand) {
  const auto weights = weights_after<double>("momentum2: 0.75 delta: 0.125", 2, {4, 2}, task_of(0.5, 0.5, 0.25));
  EXPECT_NEAR(weights[0], 1.2651515151515151, 1e-14);
  EXPECT_NEAR(weights[1], 0.6835545159173311, 1e-14);
}

TEST(AdamW, UsualSettings) {
  const auto weights = weights_after<float>("", 1, {0.5, -1, 0.25}, task_of(0.1, 0.9, 0.01));
  const double want[] = {0.899000002, 0.9347113542, 0.9474457090};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(weights[i], want[i], 2e-6) << "step " << i + 1;
}

/// What sets it apart from Adam: a weight without a gradient shrinks, and the histories know nothing of it.
TEST(AdamW, DecayIsNoGradient) {
  const auto weights = weights_after<double>("", 8, {0, 0}, task_of(0.5, 0.9, 0.5));
  EXPECT_NEAR(weights[0], 6, 1e-14);
  EXPECT_NEAR(weights[1], 4.5, 1e-14);
}

TEST(AdamW, TheEmulatedGpuAgrees) {
  SimDevice device(size_t{1} << 16);
  const auto stream = device.make_stream();
  UpdateTask task = task_of(0.5, 0.5, 0.25);
  const std::string text = "momentum2: 0.75 delta: 0.125";
  const auto on_host = weights_after<float>(text, 2, {4, 2}, task);
  task.stream = stream.get();
  task.kernel_kind = "emulated";
  const auto on_gpu = weights_after<float>(text, 2, {4, 2}, task);
  for (size_t i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(static_cast<float>(on_gpu[i]), static_cast<float>(on_host[i]));
}

TEST(AdamW, RefusesDecayBySign) {
  try {
    make_update_rule(adamw_solver("regularization_type: 'L1'"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    EXPECT_NE(std::string(error.what()).find("s.prototxt:1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace robusta
