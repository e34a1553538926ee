// LARC and LARS against numbers worked out by hand, and what they leave alone.
#include "solver/update/local_rates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "schema/read_text.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/log_lines.h"

namespace robusta::test {
namespace {

SolverDef larc_solver(const std::string& text) {
  return parse_solver("lr_policy: 'fixed' larc: true " + text, "larc.prototxt");
}

/// A parameter with |w| = 5, |g| = 20 and |h| = 2, in f64.
struct Layer {
  Layer() {
    param.desc = {Shape({2}), DType::kF64, nullptr};
    param.data = weights.data();
    param.diff = gradient.data();
  }
  double rate(const std::string& settings, const LocalRates::Step& step) {
    const SolverDef solver = larc_solver(settings);
    NormReader norms(cpu_device(), *stream);
    const LocalRates rates(solver, *make_update_rule(solver));
    const std::vector<Tensor> arrays = rates.arrays_of(param, {param.tensor(), param.gradient(), histories});
    return rates.of(param, step, norms.read(arrays));
  }
  std::array<double, 2> weights = {3, -4}, gradient = {-12, 16}, history = {0, 2};
  std::array<void*, 1> histories = {history.data()};
  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  Param param;
};

/// local = (1 - 0.75) * 0.5 * 5 / (20 * 0.25) = 0.125, whatever decay and lr_mult are.
TEST(Larc, ByHand) {
  Layer layer;
  layer.param.lr_mult = 2;
  const LocalRates::Step step{.rate = 0.5, .momentum = 0.75, .weight_decay = 9, .gradient_scale = 0.25};
  EXPECT_DOUBLE_EQ(layer.rate("larc_eta: 0.5", step), 0.5 * 0.125);
  EXPECT_DOUBLE_EQ(layer.rate("larc_eta: 0.5 larc_policy: 'scale'", step), 0.5 * 0.125);
  EXPECT_DOUBLE_EQ(layer.rate("larc_eta: 0.5 larc_policy: 'clip'", step), 0.125);
  EXPECT_DOUBLE_EQ(layer.rate("larc_eta: 4 larc_policy: 'clip'", step), 0.5);
}

TEST(Larc, ANormOfZeroLeavesTheRate) {
  Layer layer;
  const LocalRates::Step step{.rate = 0.5, .momentum = 0, .weight_decay = 0, .gradient_scale = 1};
  layer.gradient = {0, 0};
  EXPECT_EQ(layer.rate("", step), 0.5);
  layer.gradient = {1, 0};
  layer.weights = {0, 0};
  EXPECT_EQ(layer.rate("larc_policy: 'clip'", step), 0.5);
}

TEST(Larc, FrozenParametersStayFrozen) {
  Layer layer;
  layer.param.lr_mult = 0;
  const LocalRates::Step step{.rate = 0.5, .momentum = 0, .weight_decay = 0, .gradient_scale = 1};
  EXPECT_EQ(layer.rate("", step), 0);
}

/// What one iteration of two batches takes away from every parameter, by the gradients that it leaves behind: the rate
/// is 0.5, the decay 0.1, and `local_rate` is a function of the norms of weights and gradient where none is 0.
void expect_one_step(const std::string& settings, const std::function<double(double w, double g)>& local_rate) {
  constexpr double kRate = 0.5, kDecay = 0.1;
  Solver solver(parse_solver("base_lr: 0.5 lr_policy: 'fixed' random_seed: 3 iter_size: 2 weight_decay: 0.1 " +
                                 settings + kToyNet,
                             "local_rates.prototxt"),
                SolverOptions{.dtype = DType::kF64});
  Net& net = solver.train_net();
  IdVector<ParamId, std::vector<float>> before;
  for (const ParamPtr& param : net.params()) before.push_back(net.blobs().read_param(*param));
  solver.step(1);
  for (const ParamId p : before.ids()) {
    const Param& param = *net.params()[p];
    const std::vector<float> gradient = net.blobs().read_param_diff(param), after = net.blobs().read_param(param);
    double w = 0, g = 0;
    for (size_t i = 0; i < after.size(); ++i) w += before[p][i] * before[p][i], g += gradient[i] * gradient[i] / 4;
    const double local = w == 0 || g == 0 ? 1 : local_rate(std::sqrt(w), std::sqrt(g));
    for (size_t i = 0; i < after.size(); ++i) {
      const double step = kRate * local * (gradient[i] / 2 + kDecay * param.decay_mult * before[p][i]);
      EXPECT_NEAR(after[i], before[p][i] - step, 1e-6) << param.layer << ' ' << param.index;
    }
  }
}

TEST(Larc, ATrainingFollowsTheNorms) {
  const double eta = 0.5, momentum = 0.75;
  expect_one_step("momentum: 0.75 larc: true larc_eta: 0.5 ",
                  [&](double w, double g) { return (1 - momentum) * eta * w / g; });
}

TEST(Lars, ATrainingFollowsTheNorms) {
  const double trust = 0.01, decay = 0.1;
  expect_one_step("local_lr_auto: true local_gw_ratio: 0.01 ",
                  [&](double w, double g) { return trust * w / (g + decay * w); });
}

void expect_refused(const std::string& settings, ErrorKind kind, const std::string& cause) {
  const SolverDef solver = larc_solver(settings);
  const Error error = error_of([&] { LocalRates(solver, *make_update_rule(solver)); });
  EXPECT_EQ(error.kind(), kind) << settings;
  EXPECT_TRUE(contains(error.what(), cause)) << error.what();
  EXPECT_EQ(error.location(), "larc.prototxt:1");
}

TEST(Larc, RefusesWhatMakesNoSense) {
  expect_refused("type: 'Adam' momentum: 0.9", ErrorKind::kConfig, "larc with solver type Adam");
  expect_refused("type: 'Nesterov'", ErrorKind::kConfig, "larc with solver type Nesterov");
  expect_refused("larc_policy: 'clop'", ErrorKind::kConfig, "did you mean \"clip\"?");
  expect_refused("larc_eta: 0", ErrorKind::kConfig, "larc_eta is 0");
  expect_refused("local_lr_auto: true", ErrorKind::kConfig, "both larc and local_lr_auto");
  expect_refused("larc_turbo: true", ErrorKind::kUnsupported, "larc_turbo (NVIDIA) is not in this build");
}

TEST(Larc, TurboWithoutLarcChangesNothing) {
  const SolverDef solver = parse_solver("net: 'n' base_lr: 0.1 lr_policy: 'fixed' larc_turbo: true", "s.prototxt");
  const LogLines log;
  EXPECT_NO_THROW(LocalRates(solver, *make_update_rule(solver)));
  EXPECT_TRUE(contains(log.text(), "larc_turbo changes nothing without larc")) << log.text();
}

}  // namespace
}  // namespace robusta::test
