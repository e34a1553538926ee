// CtcLoss.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::ctc_loss_test {
namespace {

struct Sequences {
  int64_t steps, classes, blank;
  std::vector<std::vector<int>> labels;  ///< of each sample, as many
  int64_t counted = 0;                   ///< 0: all steps

  int64_t samples() const { return static_cast<int64_t>(labels.size()); }
  int64_t time_step() const { return counted ? counted : steps; }

  KernelCase loss() const {
    const std::string param = "alphabet_size: " + std::to_string(classes) + " blank_label: " + std::to_string(blank) +
                              " time_step: " + std::to_string(time_step());
    KernelCase what{{"type: 'CtcLoss' ctc_loss_param { " + param + " }"},
                    {{steps, samples(), classes}, {samples(), static_cast<int64_t>(labels[0].size())}}};
    what.bottom_values = [of = *this](int bottom, const Shape&) { return bottom == 1 ? of.flat() : Array{}; };
    return what;
  }
  Array flat() const {
    Array all;
    for (const auto& of_sample : labels) all.insert(all.end(), of_sample.begin(), of_sample.end());
    return all;
  }

  /// The sum of the probabilities of all paths that say the labels, path by path.
  double probability(const Array& scores, int64_t sample) const {
    std::vector<int> path(static_cast<size_t>(time_step()), 0);
    double sum = 0;
    for (;;) {
      if (spoken(path) == wanted(sample)) {
        double product = 1;
        for (int64_t t = 0; t < time_step(); ++t) product *= softmax(scores, t, sample, path[static_cast<size_t>(t)]);
        sum += product;
      }
      size_t place = 0;
      while (place < path.size() && ++path[place] == classes) path[place++] = 0;
      if (place == path.size()) return sum;
    }
  }

  double mean_loss(const Array& scores) const {
    double sum = 0;
    for (int64_t n = 0; n < samples(); ++n) {
      const double p = probability(scores, n);
      if (p > 0) sum -= std::log(p);
    }
    return sum / static_cast<double>(samples());
  }

 private:
  std::vector<int> spoken(const std::vector<int>& path) const {
    std::vector<int> said;
    for (size_t t = 0; t < path.size(); ++t) {
      if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) said.push_back(path[t]);
    }
    return said;
  }
  std::vector<int> wanted(int64_t sample) const {
    std::vector<int> labels_of;
    for (const int label : labels[static_cast<size_t>(sample)]) {
      if (label != blank) labels_of.push_back(label);
    }
    return labels_of;
  }
  double softmax(const Array& scores, int64_t t, int64_t sample, int64_t c) const {
    const double* row = scores.data() + (t * samples() + sample) * classes;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(row[k]);
    return std::exp(row[c]) / sum;
  }
};

/// Different lengths, equal neighbours, no labels at all; a sequence that does not fit.
const Sequences kSmall{5, 3, 0, {{1, 2, 0}, {1, 1, 0}, {0, 2, 0}, {0, 0, 0}, {2, 1, 2}, {1, 1, 1}, {2, 2, 1}}};
const Sequences kOther{6, 3, 2, {{0, 1, 1}, {1, 0, 2}}, 4};
const Sequences kTooLong{3, 3, 0, {{1, 1, 2}, {1, 2, 0}}};

TEST(CtcLossTest, IsTheSumOverAllPaths) {
  for (const Sequences& of : {kSmall, kOther, kTooLong}) {
    const KernelCase what = of.loss();
    const KernelInputs inputs = make_inputs(what);
    KernelHarness harness(what, {});
    harness.forward(inputs.bottoms);
    expect_near(harness.tops()[0], {of.mean_loss(inputs.bottoms[0])}, 1e-12, "loss");
    harness.backward({{2}});
    Array slopes;
    for (size_t i = 0; i < inputs.bottoms[0].size(); ++i) {
      Array up = inputs.bottoms[0], down = up;
      up[i] += 1e-5, down[i] -= 1e-5;
      // The gradient is that of the sum.
      slopes.push_back(2 * static_cast<double>(of.samples()) * (of.mean_loss(up) - of.mean_loss(down)) / 2e-5);
    }
    expect_near(harness.bottom_diffs()[0], slopes, 1e-7, "gradient");
    EXPECT_EQ(harness.damage(), "");
  }
}

TEST(CtcLossTest, KernelsAgree) {
  Sequences longer{60, 9, 8, {}};
  for (int sample = 0; sample < 6; ++sample) {
    std::vector<int> labels;
    for (int i = 0; i < 20; ++i) labels.push_back((i * i + sample * i) % 9);
    longer.labels.push_back(labels);
  }
  for (const Sequences& of : {kSmall, kOther, kTooLong, longer}) {
    compare_with_reference("reference", of.loss(), 1e-4);
    compare_gpu_with_reference(of.loss(), 1e-4);
  }
}

/// Probabilities of paths that no float holds.
TEST(CtcLossTest, LongSequences) {
  const Sequences certain{400, 4, 0, {{1, 2, 3}}};
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(certain.loss(), {.backend = backend, .dtype = DType::kF32});
    harness.forward({Array(1600, 0.0), certain.flat()});
    harness.backward({{1}});
    // All paths are alike: their number is that of the ways to place three labels and what lies between.
    EXPECT_GT(harness.tops()[0][0], 100) << backend;
    // What the net says of a step and what the paths say are probabilities of as many classes.
    const Arrays slopes = harness.bottom_diffs();
    for (size_t step = 0; step < 400; ++step) {
      double sum = 0;
      for (size_t c = 0; c < 4; ++c) sum += slopes[0][step * 4 + c];
      ASSERT_NEAR(sum, 0, 1e-3) << backend;
    }
  }
}

TEST(CtcLossTest, BadLabels) {
  for (const char* backend : {"reference", "gpu"}) {
    for (const double label : {3.0, -1.0, 1e30}) {
      const Error error = error_of([&] {
        Arrays bottoms = make_inputs(kSmall.loss()).bottoms;
        bottoms[1][4] = label;
        KernelHarness harness(kSmall.loss(), {.backend = backend, .dtype = DType::kF32});
        harness.forward(bottoms);
      });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), "at sample 6 is out of range 0..2")) << error.cause();
    }
  }
}

TEST(CtcLossTest, ANaNStaysOne) {
  for (const char* backend : {"reference", "gpu"}) {
    Arrays bottoms = make_inputs(kSmall.loss()).bottoms;
    bottoms[0][0] = std::nan("");
    KernelHarness harness(kSmall.loss(), {.backend = backend, .dtype = DType::kF32});
    harness.forward(bottoms);
    EXPECT_TRUE(std::isnan(harness.tops()[0][0])) << backend;
  }
}

TEST(CtcLossTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::vector<Shape>& bottoms, const std::string& cause,
                                 const std::string& field) {
    expect_config_error({{"type: 'CtcLoss' ctc_loss_param { " + param + " }"}, bottoms}, cause, field);
  };
  const std::vector<Shape> good{{4, 2, 3}, {2, 2}};
  expect_refused("time_step: 4", good, "no alphabet_size is given", "ctc_loss_param.alphabet_size");
  expect_refused("time_step: 4 alphabet_size: 0", good, "alphabet_size is 0", "ctc_loss_param.alphabet_size");
  expect_refused("alphabet_size: 3", good, "no time_step is given", "ctc_loss_param.time_step");
  expect_refused("alphabet_size: 3 time_step: 0", good, "time_step is 0", "ctc_loss_param.time_step");
  expect_refused("alphabet_size: 3 time_step: 5", good, "time_step is 5, but bottom 0 has 4 steps",
                 "ctc_loss_param.time_step");
  for (const char* blank : {"3", "-1"}) {
    expect_refused(std::string("alphabet_size: 3 time_step: 4 blank_label: ") + blank, good,
                   std::string("blank_label ") + blank + " is out of range 0..2", "ctc_loss_param.blank_label");
  }
  expect_refused("alphabet_size: 2 time_step: 4", good, "bottom 0 has shape 4 2 3", "bottom");
  expect_refused("alphabet_size: 3 time_step: 4", {{4, 2, 3}, {3, 2}}, "bottom 0 has 2 samples", "bottom");
}

}  // namespace
}  // namespace robusta::test::ctc_loss_test
