// Operators that become several layers of Caffe - normalisation, Gelu, LSTM -, beside the formulas of ONNX.

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "exchange/onnx_models.h"
#include "support/errors.h"

namespace robusta::test::onnx_import_norm_test {
namespace {

using Numbers = std::vector<float>;

Numbers random_numbers(size_t count, uint64_t seed) {
  Numbers values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(philox(seed, i, 0)[0]) * 0x1p-31f - 1;
  return values;
}

void expect_near(const Numbers& found, const Numbers& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-6f) << "at " << i;
}

/// Each run of `length` numbers with mean 0, and variance 1 where it is far above epsilon.
Numbers normalised(const Numbers& x, size_t length, double epsilon) {
  Numbers y(x.size());
  for (size_t begin = 0; begin < x.size(); begin += length) {
    double mean = 0, variance = 0;
    for (size_t i = begin; i < begin + length; ++i) mean += static_cast<double>(x[i]) / static_cast<double>(length);
    for (size_t i = begin; i < begin + length; ++i)
      variance += std::pow(static_cast<double>(x[i]) - mean, 2) / static_cast<double>(length);
    for (size_t i = begin; i < begin + length; ++i)
      y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) / std::sqrt(variance + epsilon));
  }
  return y;
}

TEST(OnnxImportNormTest, InstanceNormalizationHasEpsilonBelowTheRoot) {
  OnnxModel model;
  model.input("x", {2, 3, 2, 2}).output("y").floats("s", {3}, {2, -1, 0.5f}).floats("b", {3}, {0.25f, 1, -3});
  model.node("InstanceNormalization", {"x", "s", "b"}, {"y"}).set("epsilon", 0.5f);
  EXPECT_EQ(model.types(), "Input Reshape BatchNorm Reshape Scale");
  const Numbers x = random_numbers(24, 1), scale{2, -1, 0.5f}, bias{0.25f, 1, -3};
  Numbers wanted = normalised(x, 4, 0.5);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * scale[i / 4 % 3] + bias[i / 4 % 3];
  expect_near(model.run({x}), wanted);
}

TEST(OnnxImportNormTest, LayerNormalizationOverTheLastAxes) {
  const Numbers x = random_numbers(24, 2), scale = random_numbers(12, 3), bias = random_numbers(12, 4);
  OnnxModel two(17);
  two.input("x", {2, 3, 4}).output("y").floats("s", {3, 4}, scale).floats("b", {3, 4}, bias);
  two.node("LayerNormalization", {"x", "s", "b"}, {"y"}).set("axis", int64_t{1});
  Numbers wanted = normalised(x, 12, 1e-5);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * scale[i % 12] + bias[i % 12];
  expect_near(two.run({x}), wanted);
  OnnxModel one(17);  // along the last axis, one scale for all, no bias
  one.input("x", {2, 3, 4}).output("y").floats("s", {1}, {3}).node("LayerNormalization", {"x", "s"}, {"y"});
  wanted = normalised(x, 4, 1e-5);
  for (float& value : wanted) value *= 3;
  expect_near(one.run({x}), wanted);
}

TEST(OnnxImportNormTest, NormalizationsThatDoNotFitAreRefused) {
  const auto refusal = [](const OnnxModel& model) { return error_of([&] { model.imported(); }); };
  OnnxModel scale;
  scale.input("x", {1, 3, 2}).output("y").floats("s", {2}, {1, 1}).floats("b", {2}, {1, 1});
  EXPECT_EQ(refusal(scale.node("InstanceNormalization", {"x", "s", "b"}, {"y"})).kind(), ErrorKind::kModel);
  OnnxModel mean(17);
  mean.input("x", {1, 4}).output("y").output("m").floats("s", {4}, {1, 1, 1, 1});
  EXPECT_TRUE(contains(refusal(mean.node("LayerNormalization", {"x", "s"}, {"y", "m"})).what(), "InvStdDev"));
}

TEST(OnnxImportNormTest, GeluByTanhAlone) {
  const auto gelu = [](const char* form) {
    return OnnxModel(20).input("x", {1, 4}).output("y").node("Gelu", {"x"}, {"y"}).set("approximate", form);
  };
  const Numbers x{-3, -0.5f, 0.5f, 3};
  expect_near(gelu("tanh").run({x}), {-0.00363739f, -0.15428599f, 0.34571401f, 2.9963627f});
  EXPECT_TRUE(contains(error_of([&] { gelu("none").imported(); }).what(), "no error function"));
}

/// What ONNX says of an LSTM (gates i, o, f, c), for one direction.
struct LstmFormula {
  size_t steps, streams, inputs, hidden;
  Numbers w, r, b, h, c;  // of the direction; h and c: the states

  Numbers run(const Numbers& x, bool reversed) {
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    Numbers y(steps * streams * hidden);
    for (size_t step = 0; step < steps; ++step) {
      const size_t at = reversed ? steps - 1 - step : step;
      const Numbers before = h;
      for (size_t n = 0; n < streams; ++n) {
        for (size_t j = 0; j < hidden; ++j) {
          double gates[4];
          for (size_t g = 0; g < 4; ++g) {
            const size_t row = g * hidden + j;
            gates[g] = static_cast<double>(b[row]) + static_cast<double>(b[4 * hidden + row]);
            for (size_t k = 0; k < inputs; ++k)
              gates[g] +=
                  static_cast<double>(w[row * inputs + k]) * static_cast<double>(x[(at * streams + n) * inputs + k]);
            for (size_t k = 0; k < hidden; ++k)
              gates[g] += static_cast<double>(r[row * hidden + k]) * static_cast<double>(before[n * hidden + k]);
          }
          const size_t cell = n * hidden + j;
          c[cell] = static_cast<float>(sigmoid(gates[2]) * static_cast<double>(c[cell]) +
                                       sigmoid(gates[0]) * std::tanh(gates[3]));
          h[cell] = static_cast<float>(sigmoid(gates[1]) * std::tanh(static_cast<double>(c[cell])));
          y[at * streams * hidden + cell] = h[cell];
        }
      }
    }
    return y;
  }
};

/// Of 3 steps, 2 streams, 4 inputs and 5 units.
struct LstmCase {
  explicit LstmCase(int64_t count, const char* direction, bool has_states) : directions(count) {
    const auto d = static_cast<size_t>(count);
    w = random_numbers(d * 80, 5), r = random_numbers(d * 100, 6), b = random_numbers(d * 40, 7);
    h = has_states ? random_numbers(d * 10, 8) : Numbers(d * 10, 0);
    c = has_states ? random_numbers(d * 10, 9) : Numbers(d * 10, 0);
    model.input("x", {3, 2, 4}).floats("w", {count, 20, 4}, w).floats("r", {count, 20, 5}, r);
    model.floats("b", {count, 40}, b).floats("c", {count, 2, 5}, c).input("h", {count, 2, 5});
    model.node("LSTM", {"x", "w", "r", "b", "", has_states ? "h" : "", has_states ? "c" : ""}, {"y", "yh", "yc"});
    model.set("hidden_size", int64_t{5}).set("direction", direction);
  }

  Numbers part(const Numbers& of, size_t direction) const {
    const size_t each = of.size() / static_cast<size_t>(directions);
    const auto begin = of.begin() + static_cast<std::ptrdiff_t>(direction * each);
    return {begin, begin + static_cast<std::ptrdiff_t>(each)};
  }

  void check(bool first_reversed) {
    const Numbers x = random_numbers(24, 10);
    Numbers y(30 * static_cast<size_t>(directions)), last_h, last_c;
    for (size_t d = 0; d < static_cast<size_t>(directions); ++d) {
      LstmFormula formula{3, 2, 4, 5, part(w, d), part(r, d), part(b, d), part(h, d), part(c, d)};
      const Numbers own = formula.run(x, first_reversed || d == 1);
      for (size_t i = 0; i < 30; ++i)  // [steps, directions, streams x units]
        y[(i / 10 * static_cast<size_t>(directions) + d) * 10 + i % 10] = own[i];
      last_h.insert(last_h.end(), formula.h.begin(), formula.h.end());
      last_c.insert(last_c.end(), formula.c.begin(), formula.c.end());
    }
    model.output("y").output("yh");
    expect_near(run_imported(model.imported(), {x, h}).at(0), y);  // without the cells
    expect_near(run_imported(model.imported(), {x, h}).at(1), last_h);
    model.output("yc");
    const auto found = run_imported(model.imported(), {x, h});
    expect_near(found.at(0), y);
    expect_near(found.at(1), last_h);
    expect_near(found.at(2), last_c);
  }

  int64_t directions;
  Numbers w, r, b, h, c;
  OnnxModel model;
};

TEST(OnnxImportNormTest, LstmForwardFromZeros) {
  LstmCase lstm(1, "forward", false);
  OnnxModel alone = lstm.model;
  alone.output("y");
  EXPECT_EQ(alone.types(), "Input Input Parameter LSTM Reshape");
  lstm.check(false);
}
TEST(OnnxImportNormTest, LstmFromStatesThatAreGiven) { LstmCase(1, "forward", true).check(false); }
TEST(OnnxImportNormTest, LstmReversed) { LstmCase(1, "reverse", true).check(true); }
TEST(OnnxImportNormTest, LstmOfBothDirections) {
  LstmCase(2, "bidirectional", false).check(false);
  LstmCase(2, "bidirectional", true).check(false);
}

TEST(OnnxImportNormTest, LstmsThatCaffeLacksAreRefused) {
  const auto refusal = [](const auto& change) {
    LstmCase lstm(1, "forward", false);
    change(lstm.model);
    lstm.model.output("y");
    return std::string(error_of([&] { lstm.model.imported(); }).what());
  };
  EXPECT_TRUE(contains(refusal([](OnnxModel& m) { m.set("clip", 1.0f); }), "attribute clip"));
  EXPECT_TRUE(contains(refusal([](OnnxModel& m) { m.set("layout", int64_t{1}); }), "attribute layout"));
  EXPECT_TRUE(contains(refusal([](OnnxModel& m) { m.set("input_forget", int64_t{1}); }), "two gates are one"));
  const auto with_input = [](int at, const std::string& name) {
    return [=](OnnxModel& m) {
      onnx::NodeProto& node = *m.model.mutable_graph()->mutable_node(0);
      while (node.input_size() <= at) node.add_input("");
      node.set_input(at, name);
    };
  };
  EXPECT_TRUE(contains(refusal([&](OnnxModel& m) { with_input(4, "n")(m.integers("n", {3, 2})); }), "sequence_lens"));
  EXPECT_TRUE(contains(refusal([&](OnnxModel& m) {
                         with_input(7, "p")(m.floats("p", {1, 15}, Numbers(15, 1)));
                       }),
                       "gates look at the cells"));
  EXPECT_TRUE(contains(refusal([&](OnnxModel& m) { with_input(1, "r")(m); }), "do not fit together"));
}

}  // namespace
}  // namespace robusta::test::onnx_import_norm_test
