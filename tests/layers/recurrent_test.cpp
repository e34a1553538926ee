// LSTM and RNN: shapes, parameters, gradients, states.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "support/errors.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::recurrent_test {
namespace {

/// Beginnings, continuations, and a number that is neither.
Array mixed_cont(const Shape& shape) {
  constexpr double kPattern[] = {1, 0, 1, 0.5, 1, 1, 0};
  Array cont;
  for (int64_t i = 0; i < shape.count(); ++i) cont.push_back(kPattern[i % 7]);
  return cont;
}

KernelCase recurrent(const std::string& type, const std::string& fields, std::vector<Shape> bottoms, int tops = 1) {
  KernelCase what{{"type: '" + type + "' recurrent_param { " + fields + " }"}, std::move(bottoms)};
  what.tops = tops;
  what.bottom_values = [](int bottom, const Shape& shape) { return bottom == 1 ? mixed_cont(shape) : Array{}; };
  return what;
}

std::vector<KernelCase> lstm_cases() {
  return {
      recurrent("LSTM", "num_output: 3", {{4, 3, 5}, {4, 3}}),
      recurrent("LSTM", "num_output: 2", {{1, 2, 3}, {1, 2}}),
      recurrent("LSTM", "num_output: 1", {{5, 1, 1}, {5, 1}}),
      recurrent("LSTM", "num_output: 3", {{3, 2, 2, 3}, {3, 2}, {2, 2, 2}}),
      recurrent("LSTM", "num_output: 3 expose_hidden: true", {{4, 2, 2}, {4, 2}, {1, 2, 3}, {1, 2, 3}}, 3),
      recurrent("LSTM", "num_output: 2 expose_hidden: true", {{3, 2, 2}, {3, 2}, {2, 4}, {1, 2, 2}, {1, 2, 2}}, 3),
  };
}

std::vector<KernelCase> rnn_cases() {
  return {
      recurrent("RNN", "num_output: 3", {{4, 3, 5}, {4, 3}}),
      recurrent("RNN", "num_output: 1", {{1, 1, 1}, {1, 1}}),
      recurrent("RNN", "num_output: 3", {{3, 2, 2, 3}, {3, 2}, {2, 2, 2}}),
      recurrent("RNN", "num_output: 3 expose_hidden: true", {{4, 2, 2}, {4, 2}, {1, 2, 3}}, 2),
      recurrent("RNN", "num_output: 2 expose_hidden: true", {{3, 2, 2}, {3, 2}, {2, 4}, {1, 2, 2}}, 2),
  };
}

/// Small enough for roundings not to grow from step to step.
Array small_weights(int param, const Shape& shape) {
  Array values;
  for (int64_t i = 0; i < shape.count(); ++i) {
    const double at = static_cast<double>(i), largest = 0.7 / std::sqrt(static_cast<double>(shape.count(1)));
    values.push_back(static_cast<float>(largest * std::sin(1 + 0.37 * at * at + param)));
  }
  return values;
}

/// Wide enough for vectors and their rests, and for several threads.
std::vector<KernelCase> wide_cases() {
  std::vector<KernelCase> cases = {recurrent("LSTM", "num_output: 37", {{6, 5, 19}, {6, 5}}),
                                   recurrent("LSTM", "num_output: 48", {{3, 70, 16}, {3, 70}, {70, 3}}),
                                   recurrent("LSTM", "num_output: 21", {{13, 5, 19}, {13, 5}}),
                                   recurrent("RNN", "num_output: 37", {{6, 5, 19}, {6, 5}}),
                                   recurrent("RNN", "num_output: 160", {{3, 20, 16}, {3, 20}, {20, 3}})};
  for (KernelCase& c : cases) c.param_values = small_weights;
  return cases;
}

std::vector<KernelCase> all_cases() {
  std::vector<KernelCase> all = lstm_cases();
  for (const auto& more : {rnn_cases(), wide_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(LstmTest, Gradients) {
  for (const KernelCase& c : lstm_cases()) check_gradients(c);
}

TEST(RnnTest, Gradients) {
  for (const KernelCase& c : rnn_cases()) check_gradients(c);
}

TEST(RecurrentTest, SinglePrecision) {
  for (const KernelCase& c : all_cases()) compare_with_reference("reference", c);
}

TEST(RecurrentTest, Native) {
  for (const KernelCase& c : all_cases()) compare_with_reference("native", c);
}

/// Products that are large enough to be timed; those of steps have packed weights and are not.
TEST(RecurrentTest, EveryLibrary) {
  const KernelCase lstm = recurrent("LSTM", "num_output: 96", {{8, 12, 70}, {8, 12}});
  const KernelCase rnn = recurrent("RNN", "num_output: 160", {{8, 12, 160}, {8, 12}});
  for (const char* library : {"onednn", "blas"}) {
    for (auto [what, products] : {std::pair(lstm, 4), std::pair(rnn, 3)}) {
      what.param_values = small_weights;
      Prefer tuner(library);
      KernelHarness harness(what, {.backend = "native", .dtype = DType::kF32, .tuner = &tuner});
      EXPECT_EQ(tuner.taken, products) << library;
      compare_with_reference("native", what, 2e-5, {.tuner = &tuner});
    }
  }
}

/// Where nothing is trained kernels keep weights in another order, until these change.
TEST(RecurrentTest, InferenceSeesNewWeights) {
  for (const KernelCase& c : wide_cases()) {
    KernelInputs inputs = make_inputs(c);
    KernelHarness kept(c, {.backend = "native", .dtype = DType::kF32, .backward = false});
    kept.forward(inputs.bottoms, inputs.params, inputs.carried);
    kept.forward(inputs.bottoms, inputs.params, inputs.carried);
    const Arrays before = kept.tops();
    for (Array& param : inputs.params) {
      for (double& value : param) value = -value;
    }
    kept.forward(inputs.bottoms, inputs.params, inputs.carried);
    KernelHarness fresh(c, {.backend = "native", .dtype = DType::kF32, .backward = false});
    fresh.forward(inputs.bottoms, inputs.params, inputs.carried);
    EXPECT_EQ(kept.tops(), fresh.tops());
    EXPECT_NE(kept.tops(), before);
  }
}

TEST(RecurrentTest, Gpu) {
  for (const KernelCase& c : all_cases()) compare_gpu_with_reference(c);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One unit, one input: the equations of an LSTM by hand.
TEST(LstmTest, GatesComeInTheOrderIFOG) {
  KernelHarness lstm(recurrent("LSTM", "num_output: 1", {{2, 1, 1}, {2, 1}}), {});
  const Array w = {0.5, -0.4, 0.3, 0.9}, b = {0.1, 0.2, -0.3, 0.4}, u = {0.7, 0.6, -0.5, 0.8};
  const double x[] = {1.5, -0.7}, cont[] = {0.5, 1};
  double h = 0.25, c = -0.6;
  lstm.forward({{x[0], x[1]}, {cont[0], cont[1]}}, {w, b, u}, {{h}, {c}});
  for (size_t t = 0; t < 2; ++t) {
    double z[4];
    for (size_t k = 0; k < 4; ++k) z[k] = w[k] * x[t] + b[k] + u[k] * cont[t] * h;
    c = sigmoid(z[1]) * cont[t] * c + sigmoid(z[0]) * std::tanh(z[3]);
    h = sigmoid(z[2]) * std::tanh(c);
    EXPECT_NEAR(lstm.tops()[0][t], h, 1e-12);
  }
  EXPECT_NEAR(lstm.carried()[0][0], h, 1e-12);
  EXPECT_NEAR(lstm.carried()[1][0], c, 1e-12);
}

TEST(RnnTest, OutputIsOfTheHiddenState) {
  KernelHarness rnn(recurrent("RNN", "num_output: 1", {{2, 1, 1}, {2, 1}}), {});
  double h = 0.25;
  rnn.forward({{1.5, -0.7}, {0.5, 1}}, {{0.4}, {0.1}, {0.7}, {1.2}, {-0.2}}, {{h}});
  h = std::tanh(0.4 * 1.5 + 0.1 + 0.7 * 0.5 * h);
  EXPECT_NEAR(rnn.tops()[0][0], std::tanh(1.2 * h - 0.2), 1e-12);
  h = std::tanh(0.4 * -0.7 + 0.1 + 0.7 * h);
  EXPECT_NEAR(rnn.tops()[0][1], std::tanh(1.2 * h - 0.2), 1e-12);
  EXPECT_NEAR(rnn.carried()[0][0], h, 1e-12);
}

/// Rows `begin` to `end` of a time-major array.
Array steps_of(const Array& all, const Shape& shape, int64_t begin, int64_t end) {
  const int64_t per_step = shape.count(1);
  return {all.begin() + begin * per_step, all.begin() + end * per_step};
}

/// Four steps in one pass are two and two.
void check_two_passes(const std::string& type, const std::string& backend) {
  SCOPED_TRACE(type + " " + backend);
  const KernelOptions how{.backend = backend, .dtype = backend == "reference" ? DType::kF64 : DType::kF32};
  const std::string text = "num_output: 3";
  const KernelCase four = recurrent(type, text, {{4, 3, 5}, {4, 3}});
  const KernelInputs inputs = make_inputs(four);
  KernelHarness whole(four, how), half(recurrent(type, text, {{2, 3, 5}, {2, 3}}), how);
  whole.forward(inputs.bottoms, inputs.params, inputs.carried);
  Arrays carried = inputs.carried;
  for (const int64_t t : {0, 2}) {
    half.forward({steps_of(inputs.bottoms[0], {4, 3, 5}, t, t + 2), steps_of(inputs.bottoms[1], {4, 3}, t, t + 2)},
                 inputs.params, carried);
    carried = half.carried();
    expect_near(half.tops()[0], steps_of(whole.tops()[0], {4, 3, 3}, t, t + 2), 1e-6, "top");
  }
  for (size_t i = 0; i < carried.size(); ++i) expect_near(carried[i], whole.carried()[i], 1e-6, "carried");
}

TEST(RecurrentTest, PassesGoOnWhereTheLastOneStopped) {
  for (const char* type : {"LSTM", "RNN"}) {
    for (const char* backend : {"reference", "native", "gpu"}) check_two_passes(type, backend);
  }
}

TEST(RecurrentTest, ABeginningForgetsWhateverWasThere) {
  for (const std::string type : {"LSTM", "RNN"}) {
    for (const std::string backend : {"reference", "native", "gpu"}) {
      SCOPED_TRACE(type + " " + backend);
      KernelCase what = recurrent(type, "num_output: 3", {{3, 2, 4}, {3, 2}});
      what.bottom_values = [](int bottom, const Shape&) { return bottom == 1 ? Array{0, 0, 1, 1, 1, 1} : Array{}; };
      const KernelInputs inputs = make_inputs(what);
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      harness.forward(inputs.bottoms, inputs.params, {});
      harness.backward(inputs.top_diffs);
      const Arrays tops = harness.tops(), params = harness.param_diffs();
      const Array lost(6, std::nan(""));
      harness.forward(inputs.bottoms, inputs.params, Arrays(harness.carried_shapes().size(), lost));
      harness.backward(inputs.top_diffs);
      EXPECT_EQ(harness.tops(), tops);
      EXPECT_EQ(harness.param_diffs(), params);
    }
  }
}

/// A gradient that is not there counts as zeros.
void check_missing_gradients(const KernelCase& what, const std::string& backend) {
  SCOPED_TRACE(what.layers[0] + " " + backend);
  const KernelInputs inputs = make_inputs(what);
  KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
  harness.forward(inputs.bottoms, inputs.params);
  for (size_t only = 0; only < inputs.top_diffs.size(); ++only) {
    Arrays zeros = inputs.top_diffs, missing(inputs.top_diffs.size());
    for (size_t i = 0; i < zeros.size(); ++i) {
      if (i != only) std::fill(zeros[i].begin(), zeros[i].end(), 0.0);
    }
    missing[only] = inputs.top_diffs[only];
    harness.forward(inputs.bottoms, inputs.params);
    harness.backward(zeros);
    const Arrays bottoms = harness.bottom_diffs(), params = harness.param_diffs();
    harness.forward(inputs.bottoms, inputs.params);
    harness.backward(missing);
    EXPECT_EQ(harness.bottom_diffs(), bottoms) << only;
    EXPECT_EQ(harness.param_diffs(), params) << only;
  }
}

TEST(RecurrentTest, MissingGradientsAreZero) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    check_missing_gradients(lstm_cases()[5], backend);
    check_missing_gradients(rnn_cases()[4], backend);
  }
}

TEST(RecurrentTest, ShapesOfParametersAndStates) {
  const KernelHarness lstm(lstm_cases()[3], {}), rnn(rnn_cases()[4], {});
  std::vector<Shape> shapes;
  for (const ParamDecl& decl : lstm.param_decls()) shapes.push_back(decl.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{{12, 6}, {12}, {12, 4}, {12, 3}}));
  EXPECT_EQ(lstm.top_shapes(), (std::vector<Shape>{{3, 2, 3}}));
  EXPECT_EQ(lstm.carried_shapes(), (std::vector<Shape>{{1, 2, 3}, {1, 2, 3}}));
  shapes.clear();
  for (const ParamDecl& decl : rnn.param_decls()) shapes.push_back(decl.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{{2, 2}, {2}, {2, 4}, {2, 2}, {2, 2}, {2}}));
  EXPECT_EQ(rnn.top_shapes(), (std::vector<Shape>{{3, 2, 2}, {1, 2, 2}}));
  EXPECT_TRUE(rnn.carried_shapes().empty());
}

TEST(RecurrentTest, CountsOfBottomsAndTops) {
  const auto arity = [](const std::string& text) { return make_layer(parse_layer(text))->arity(); };
  const Arity lstm = arity("type: 'LSTM' recurrent_param { num_output: 3 expose_hidden: true }");
  EXPECT_EQ(std::vector<int>({lstm.min_bottoms, lstm.max_bottoms, lstm.min_tops, lstm.max_tops}),
            std::vector<int>({4, 5, 3, 3}));
  const Arity rnn = arity("type: 'RNN' recurrent_param { num_output: 3 }");
  EXPECT_EQ(std::vector<int>({rnn.min_bottoms, rnn.max_bottoms, rnn.min_tops, rnn.max_tops}),
            std::vector<int>({2, 3, 1, 1}));
}

TEST(RecurrentTest, RefusesWhatDoesNotFit) {
  expect_config_error(recurrent("LSTM", "", {{4, 3, 5}, {4, 3}}), "no num_output", "recurrent_param.num_output");
  expect_config_error(recurrent("RNN", "num_output: 0", {{4, 3, 5}, {4, 3}}), "num_output is 0",
                      "recurrent_param.num_output");
  const std::string plain = "num_output: 2", exposed = "num_output: 2 expose_hidden: true";
  expect_config_error(recurrent("LSTM", plain, {{4, 3}, {4, 3}}), "time steps, streams and values", "bottom");
  expect_config_error(recurrent("LSTM", plain, {{4, 3, 5}, {3, 4}}), "cont of 4 steps and 3 streams", "bottom");
  expect_config_error(recurrent("LSTM", plain, {{4, 3, 5}, {4, 3, 1}}), "cont of 4 steps and 3 streams", "bottom");
  expect_config_error(recurrent("LSTM", plain, {{4, 3, 5}, {4, 3}, {2, 5}}), "values for each of 3 streams", "bottom");
  expect_config_error(recurrent("LSTM", plain, {{4, 3, 5}, {4, 3}, {3}}), "values for each of 3 streams", "bottom");
  expect_config_error(recurrent("LSTM", exposed, {{4, 3, 5}, {4, 3}, {1, 3, 2}, {1, 3, 3}}, 3), "bottom 3", "bottom");
  expect_config_error(recurrent("RNN", exposed, {{4, 3, 5}, {4, 3}, {3, 2}}, 2), "a state of shape 1 3 2", "bottom");
  expect_config_error(recurrent("RNN", "num_output: 2 weight_filler { type: 'unifrom' }", {{4, 3, 5}, {4, 3}}),
                      "\"uniform\"", "recurrent_param.weight_filler.type");
  expect_config_error(recurrent("RNN", "num_output: 4294967295", {{4, 3, 5}, {4, 3}}), "");
}

TEST(RecurrentTest, AContThatIsNoNumberEndsThePass) {
  for (const char* type : {"LSTM", "RNN"}) {
    for (const char* backend : {"reference", "native", "gpu"}) {
      const KernelCase what = recurrent(type, "num_output: 2", {{3, 2, 1}, {3, 2}});
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      KernelInputs inputs = make_inputs(what);
      const auto pass = [&](double last) {
        inputs.bottoms[1] = {0, 0, 1, 1, 1, last};
        harness.forward(inputs.bottoms, inputs.params, inputs.carried);
      };
      EXPECT_NO_THROW(pass(1)) << type << backend;
      const Error error = error_of([&] { pass(std::nan("")); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << type << backend;
      EXPECT_EQ(error.cause(), "cont (bottom 1) is nan at step 2 of stream 1") << type << backend;
      EXPECT_THROW(pass(HUGE_VAL), Error) << type << backend;
      EXPECT_NO_THROW(pass(1)) << "the next pass is well";
    }
  }
}

TEST(RecurrentTest, StepsAndStreamsMayChangeAndInputsMayNot) {
  const auto layer = make_layer(parse_layer("type: 'LSTM' recurrent_param { num_output: 3 }"));
  EXPECT_EQ(layer->infer_tops({{4, 2, 5}, {4, 2}})[0], (Shape{4, 2, 3}));
  EXPECT_EQ(layer->infer_tops({{7, 1, 5}, {7, 1}})[0], (Shape{7, 1, 3}));
  EXPECT_EQ(layer->carried()[1], (Shape{1, 1, 3}));
  EXPECT_THROW(layer->infer_tops({{4, 2, 6}, {4, 2}}), Error);
}

}  // namespace
}  // namespace robusta::test::recurrent_test
