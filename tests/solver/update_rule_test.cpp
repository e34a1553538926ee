#include "solver/update/update_rule.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "device/sim/sim_device.h"
#include "robusta/error.h"
#include "schema/read_text.h"

namespace robusta {
namespace {

SolverDef solver(const std::string& text) { return parse_solver("lr_policy: 'fixed' " + text, "s.prototxt"); }

/// One parameter under one rule, in T.
template <typename T>
struct Bench {
  explicit Bench(const std::string& text, size_t count = 1)
      : rule(make_update_rule(solver(text))), w(count), g(count), h0(count), h1(count) {
    task.dtype = dtype_of<T>();
    task.count = static_cast<int64_t>(count);
    task.weights = w.data();
    task.gradient = g.data();
    task.history = histories;
  }
  void apply() { rule->apply({&task, 1}); }

  std::unique_ptr<UpdateRule> rule;
  std::vector<T> w, g, h0, h1;
  std::array<void*, 2> histories = {h0.data(), h1.data()};
  UpdateTask task;
};

constexpr double kTight = 1e-14;

TEST(UpdateRule, SgdVelocityHoldsTheRate) {
  Bench<double> b("type: 'SGD'");
  b.w[0] = 1, b.g[0] = 2;
  b.task.rate = 0.1, b.task.momentum = 0.9;
  b.apply();
  EXPECT_NEAR(b.h0[0], 0.2, kTight);
  EXPECT_NEAR(b.w[0], 0.8, kTight);
  b.task.rate = 0.01;  // the old velocity is not rescaled
  b.apply();
  EXPECT_NEAR(b.h0[0], 0.9 * 0.2 + 0.02, kTight);
  EXPECT_NEAR(b.w[0], 0.8 - 0.2, kTight);
}

TEST(UpdateRule, Nesterov) {
  Bench<double> b("type: 'Nesterov'");
  b.w[0] = 1, b.g[0] = 2, b.h0[0] = 0.5;
  b.task.rate = 0.1, b.task.momentum = 0.9;
  b.apply();
  EXPECT_NEAR(b.h0[0], 0.65, kTight);
  EXPECT_NEAR(b.w[0], 1 - (1.9 * 0.65 - 0.9 * 0.5), kTight);
}

TEST(UpdateRule, AdaGrad) {
  Bench<double> b("type: 'AdaGrad' delta: 0.5");
  b.w[0] = 1, b.g[0] = 2, b.h0[0] = 5;
  b.task.rate = 0.1;
  b.apply();
  EXPECT_NEAR(b.h0[0], 9, kTight);
  EXPECT_NEAR(b.w[0], 1 - 0.1 * 2 / 3.5, kTight);
}

TEST(UpdateRule, RmsProp) {
  Bench<double> b("type: 'RMSProp' delta: 0.5 rms_decay: 0.75");
  b.w[0] = 1, b.g[0] = 2, b.h0[0] = 4;
  b.task.rate = 0.1;
  b.apply();
  EXPECT_NEAR(b.h0[0], 0.75 * 4 + 0.25 * 4, kTight);
  EXPECT_NEAR(b.w[0], 1 - 0.1 * 2 / 2.5, kTight);
}

TEST(UpdateRule, AdaDelta) {
  Bench<double> b("type: 'AdaDelta' delta: 0.5");
  b.w[0] = 1, b.g[0] = 2, b.h0[0] = 3, b.h1[0] = 1.5;
  b.task.rate = 0.1, b.task.momentum = 0.5;
  b.apply();
  const double squares = 0.5 * 3 + 0.5 * 4, step = 2 * std::sqrt((1.5 + 0.5) / (squares + 0.5));
  EXPECT_NEAR(b.h0[0], squares, kTight);
  EXPECT_NEAR(b.h1[0], 0.5 * 1.5 + 0.5 * step * step, kTight);
  EXPECT_NEAR(b.w[0], 1 - 0.1 * step, kTight);
}

TEST(UpdateRule, AdamCorrectsTheBiasByTheGlobalIteration) {
  Bench<double> b("type: 'Adam' momentum2: 0.75 delta: 0.5");
  b.w[0] = 1, b.g[0] = 2, b.h0[0] = 3, b.h1[0] = 1;
  b.task.rate = 0.1, b.task.momentum = 0.5, b.task.iteration = 2;
  b.apply();
  const double mean = 0.5 * 3 + 0.5 * 2, squares = 0.75 * 1 + 0.25 * 4;
  const double correction = std::sqrt(1 - 0.75 * 0.75 * 0.75) / (1 - 0.125);
  EXPECT_NEAR(b.h0[0], mean, kTight);
  EXPECT_NEAR(b.h1[0], squares, kTight);
  EXPECT_NEAR(b.w[0], 1 - 0.1 * correction * mean / (std::sqrt(squares) + 0.5), kTight);
}

TEST(UpdateRule, DecayComesAfterTheScale) {
  Bench<double> b("type: 'SGD'", 3);
  b.w = {2, -2, 0}, b.g = {1, 1, 1};
  b.task.rate = 1, b.task.gradient_scale = 0.5, b.task.decay = 0.25;
  b.apply();
  EXPECT_NEAR(b.h0[0], 0.5 + 0.5, kTight);
  EXPECT_NEAR(b.h0[1], 0.5 - 0.5, kTight);
  EXPECT_NEAR(b.h0[2], 0.5, kTight);
}

TEST(UpdateRule, L1DecaysBySign) {
  Bench<double> b("type: 'SGD'", 3);
  b.w = {2, -3, 0};
  b.task.rate = 1, b.task.decay = 0.25, b.task.regularization = Regularization::kL1;
  b.apply();
  EXPECT_NEAR(b.h0[0], 0.25, kTight);
  EXPECT_NEAR(b.h0[1], -0.25, kTight);
  EXPECT_EQ(b.h0[2], 0);
}

/// NVIDIA's WD: every rule steps as it would without decay, and the weight that was shrinks by rate * decay beside.
TEST(UpdateRule, DecoupledDecayIsNoGradient) {
  for (const std::string& type : update_rule_types()) {
    if (type == "AdamW" || type == "LAMB") continue;  // decouple their decay themselves
    Bench<double> plain("type: '" + type + "'"), decayed("type: '" + type + "'");
    for (Bench<double>* b : {&plain, &decayed}) {
      b->w[0] = 2, b->g[0] = 0.5, b->h0[0] = 0.25, b->h1[0] = 0.125;
      b->task.rate = 0.5;
    }
    decayed.task.regularization = Regularization::kDecoupled;
    decayed.task.decay = 0.125;
    plain.apply();
    decayed.apply();
    EXPECT_NEAR(decayed.w[0], plain.w[0] - 0.5 * 0.125 * 2, kTight) << type;
    EXPECT_EQ(decayed.h0[0], plain.h0[0]) << type;
    EXPECT_EQ(decayed.h1[0], plain.h1[0]) << type;
  }
}

/// w - h - rate decay w, by hand: the velocity knows nothing of decay.
TEST(UpdateRule, SgdWithDecoupledDecay) {
  Bench<double> b("type: 'SGD'");
  b.w[0] = 2, b.g[0] = 4;
  b.task.rate = 0.25, b.task.momentum = 0.5, b.task.decay = 0.5, b.task.regularization = Regularization::kDecoupled;
  b.apply();
  EXPECT_DOUBLE_EQ(b.h0[0], 1);
  EXPECT_DOUBLE_EQ(b.w[0], 2 - 1 - 0.25);
  b.apply();
  EXPECT_DOUBLE_EQ(b.h0[0], 1.5);
  EXPECT_DOUBLE_EQ(b.w[0], 0.75 - 1.5 - 0.25 * 0.5 * 0.75);
}

/// Sizes around the vector width and the grain of the threads: every element must get the same treatment.
TEST(UpdateRule, EveryElementOfLargeArraysInF32) {
  for (const std::string& type : update_rule_types()) {
    for (const size_t count : {size_t{1}, size_t{7}, size_t{33}, size_t{40000}, size_t{100003}}) {
      Bench<float> many("type: '" + type + "'", count);
      Bench<float> one("type: '" + type + "'");
      for (UpdateTask* task : {&many.task, &one.task}) {
        task->rate = 0.1, task->decay = 0.01, task->gradient_scale = 0.5;
        task->momentum = one.rule->histories() == 2 || type == "SGD" || type == "SAG" ? 0.9 : 0;
      }
      for (size_t i = 0; i < count; ++i) {
        many.w[i] = 0.5f + static_cast<float>(i % 5);
        many.g[i] = 0.25f * static_cast<float>(i % 3);
      }
      many.apply();
      for (size_t i = 0; i < count; ++i) {
        one.w[0] = 0.5f + static_cast<float>(i % 5);
        one.g[0] = 0.25f * static_cast<float>(i % 3);
        one.h0[0] = one.h1[0] = 0;
        if (i < 16 || i > count - 16) {
          one.apply();
          ASSERT_NEAR(many.w[i], one.w[0], 1e-6f * std::fabs(one.w[0])) << type << " element " << i << " of " << count;
          ASSERT_NEAR(many.h0[i], one.h0[0], 1e-6f * std::fabs(one.h0[0]))
              << type << " element " << i << " of " << count;
        }
      }
    }
  }
}

TEST(UpdateRule, CountsOfHistories) {
  EXPECT_EQ(make_update_rule(solver("type: 'SGD'"))->histories(), 1);
  EXPECT_EQ(make_update_rule(solver("type: 'Adam'"))->histories(), 2);
  EXPECT_EQ(make_update_rule(solver("type: 'AdaDelta'"))->histories(), 2);
}

void expect_error(const std::string& text, ErrorKind kind, const std::string& part) {
  try {
    make_update_rule(solver(text));
    FAIL() << "accepted " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(UpdateRule, RefusesWhatItCannotDo) {
  expect_error("type: 'SGDD'", ErrorKind::kConfig, "did you mean \"SGD\"?");
  expect_error("type: 'AdaGrad' momentum: 0.9", ErrorKind::kConfig, "s.prototxt:1: momentum 0.9");
  expect_error("type: 'RMSProp' momentum: 0.9", ErrorKind::kConfig, "momentum");
  expect_error("type: 'RMSProp' rms_decay: 1", ErrorKind::kConfig, "rms_decay");
}

/// Weights and histories after one iteration of 70 parameters of many sizes, which lie `apart` elements behind where
/// packs may begin.
std::vector<float> updated_on_a_gpu(const std::string& type, bool together, size_t apart = 0) {
  SimDevice device(size_t{1} << 20);
  const auto stream = device.make_stream();
  const auto rule = make_update_rule(solver("type: '" + type + "'"));
  std::vector<std::vector<float>> arrays;
  std::vector<std::array<void*, 2>> histories(70);
  std::vector<UpdateTask> tasks;
  for (int p = 0; p < 70; ++p) {
    UpdateTask task;
    task.count = p * p % 37;
    for (int array = 0; array < 4; ++array) {
      auto& values = arrays.emplace_back(apart + static_cast<size_t>(task.count));
      for (size_t i = apart; i < values.size(); ++i) {
        values[i] = 0.1f * static_cast<float>(1 + (p + array + (i - apart) * 7) % 11);
      }
    }
    task.weights = arrays.end()[-4].data() + apart;
    task.gradient = arrays.end()[-3].data() + apart;
    std::array<void*, 2>& history = histories[static_cast<size_t>(p)];
    history = {arrays.end()[-2].data() + apart, arrays.end()[-1].data() + apart};
    task.history = history;
    task.rate = 0.01 * p;
    task.momentum = 0.9;
    task.decay = 0.001 * p;
    task.stream = stream.get();
    task.kernel_kind = "emulated";
    tasks.push_back(task);
  }
  for (size_t t = 0; t < tasks.size() && !together; ++t) rule->apply({&tasks[t], 1});
  if (together) rule->apply(tasks);
  std::vector<float> all;
  for (const auto& values : arrays) {
    all.insert(all.end(), values.begin() + static_cast<std::ptrdiff_t>(apart), values.end());
  }
  return all;
}

TEST(UpdateRule, ManyParametersAtOnceOnAGpu) {
  for (const std::string& type : update_rule_types()) {
    const std::vector<float> together = updated_on_a_gpu(type, true);
    EXPECT_EQ(together, updated_on_a_gpu(type, false)) << type;
    EXPECT_EQ(together, updated_on_a_gpu(type, true, 1)) << type << ", element by element";
  }
}

}  // namespace
}  // namespace robusta
