// Sums that a convolution makes of its results for the BatchNorm which reads them (kit/result_sums.h), emulated, with a
// library of convolutions.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"
#include "support/plain_library.h"
#include "support/two_ranks.h"

namespace robusta::test::result_sums_test {
namespace {

std::string conv(const std::string& name, const std::string& from, const std::string& fields = "bias_term: false",
                 int outputs = 16) {
  return str("layer { name: '", name, "' type: 'Convolution' bottom: '", from, "' top: '", name,
             "' convolution_param { num_output: ", outputs, " kernel_size: 1 weight_filler { type: 'msra' } ", fields,
             " } }\n");
}

std::string norm(const std::string& of, const std::string& settings = "") {
  const std::string in_place = "' bottom: '" + of + "' top: '" + of + "' ";
  return "layer { name: 'norm_" + of + "' type: 'BatchNorm" + in_place + settings + "}\nlayer { name: 'scale_" + of +
         "' type: 'Scale" + in_place +
         "scale_param { bias_term: true filler { value: 0.7 } bias_filler { value: 0.2 } } }\n";
}

std::string relu(const std::string& of) {
  return "layer { name: 'relu_" + of + "' type: 'ReLU' bottom: '" + of + "' top: '" + of + "' }\n";
}

std::string add(const std::string& a, const std::string& b, const std::string& to) {
  return "layer { name: '" + to + "' type: 'Eltwise' bottom: '" + a + "' bottom: '" + b + "' top: '" + to + "' }\n";
}

const char* const kInput =
    "layer { name: 'in' type: 'Input' top: 'x' top: 'label' "
    "input_param { shape { dim: 4 dim: 16 dim: 4 dim: 5 } shape { dim: 4 } } }\n";

std::string loss_of(const std::string& last) {
  return "layer { name: 'fc' type: 'InnerProduct' bottom: '" + last +
         "' top: 'fc' inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
}

/// A residual block with a projection, behind a first layer with a bias, as in ResNet-50.
std::string block() {
  return kInput + conv("stem", "x", "bias_filler { type: 'uniform' }") + norm("stem") + relu("stem") +
         conv("short", "stem") + norm("short") + conv("long", "stem") + norm("long") + add("short", "long", "sum") +
         relu("sum") + conv("last", "sum") + norm("last") + loss_of("last");
}

struct Options {
  bool sums = true, fuses = true;  ///< the library
  DType precision = DType::kBF16;
  bool keep_blobs = false, lms = false;
  std::function<void(Net&)> before = nullptr;  ///< the passes
};

struct Passes {
  std::vector<float> numbers;  ///< of the last of three passes
  int summed = 0;
  uint64_t kernels = 0;  ///< of the last pass
  int moved = 0;         ///< values that go to the host
};

Passes run(const std::string& text, const Options& options) {
  const WithPlainLibrary library(options.fuses);
  plain_library.sums = options.sums;
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions net_options;
  net_options.device = &gpu;
  net_options.precision = options.precision;
  net_options.keep_blobs = options.keep_blobs;
  net_options.poison = true;
  if (options.lms) net_options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = 64};
  Net net(net_def(text), net_options);
  if (options.before) options.before(net);
  Passes passes;
  for (int pass = 0; pass < 4; ++pass) {  // as they come, then recorded, then launched as graphs
    fill_inputs(net, static_cast<uint64_t>(pass + 1));
    const uint64_t before = gpu.kernels();
    passes.numbers = run_once(net);
    net.stream().synchronize();
    passes.kernels = gpu.kernels() - before;
  }
  passes.summed = plain_library.summed;
  passes.moved = net.plan().offloading.moved;
  return passes;
}

/// Statistics are of numbers that are not rounded yet, and sums of other terms: so a few roundings of 16 bits.
void expect_close(const std::vector<float>& a, const std::vector<float>& b, double roundings, DType type) {
  ASSERT_EQ(a.size(), b.size());
  const double unit = type == DType::kBF16 ? 1.0 / 256 : 1.0 / 2048;
  double distance = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    distance += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    size += double{b[i]} * b[i];
  }
  EXPECT_LT(std::sqrt(distance / size), roundings * unit);
  EXPECT_GT(size, 0);
}

/// With sums and without; `summed`: how many convolutions are to make them.
void compare(const std::string& text, int summed, Options options = {}) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(name_of(type) + text);
    options.precision = type;
    options.sums = true;
    const Passes with = run(text, options);
    options.sums = false;
    const Passes without = run(text, options);
    EXPECT_EQ(with.summed, summed);
    EXPECT_EQ(without.summed, 0);
    expect_close(with.numbers, without.numbers, 2, type);
    if (summed == 0) {
      EXPECT_EQ(with.numbers, without.numbers);
    }
  }
}

TEST(ResultSums, TrainAsMomentsOfTheirOwn) {
  compare(kInput + conv("a", "x") + norm("a") + loss_of("a"), 1);
  compare(kInput + conv("a", "x") + norm("a") + relu("a") + conv("b", "a") + norm("b") + relu("b") + loss_of("b"), 2);
  compare(block(), 4);
  // As it is added in most blocks of a residual net.
  compare(kInput + conv("a", "x") + norm("a") + conv("b", "a") + norm("b") + add("a", "b", "sum") + relu("sum") +
              loss_of("sum"),
          2);
}

/// The library, which has left the bias to us so far, is given it then, in its type.
TEST(ResultSums, BringTheBiasAlong) { compare(block(), 4, {.fuses = false}); }

/// Where channels are no whole packs they are finished apart; the numbers are the same.
TEST(ResultSums, ForAnyNumberOfChannels) {
  compare(kInput + conv("a", "x", "bias_term: false", 18) + norm("a") + loss_of("a"), 1);
}

/// One launch of a BatchNorm's two; a projection has moments alone, which are finished for its reader.
TEST(ResultSums, SaveALaunch) {
  const std::string one = kInput + conv("a", "x") + norm("a") + loss_of("a");
  EXPECT_EQ(run(one, {.sums = false}).kernels - run(one, {}).kernels, 1u);
  EXPECT_EQ(run(block(), {.sums = false}).kernels - run(block(), {}).kernels, 3u);
}

/// Where statistics are stored, where somebody lies between, or sees what lies there, where nothing is rounded.
TEST(ResultSums, NotWhereOthersLieBetween) {
  compare(kInput + conv("a", "x") + norm("a", "batch_norm_param { use_global_stats: true }") + loss_of("a"), 0);
  compare(kInput + conv("a", "x") + relu("a") + norm("a") + loss_of("a"), 0);
  compare(kInput + conv("a", "x") + norm("a") + loss_of("a"), 0, {.keep_blobs = true});
  const std::string sum =
      kInput + conv("a", "x") + conv("b", "a") + add("a", "b", "sum") + norm("sum") + loss_of("sum");
  compare(sum, 0);
  Options f32{.precision = DType::kF32};
  EXPECT_EQ(run(block(), f32).summed, 0);
}

/// Values go to the host and come back, normalising runs once more: the same bits.
TEST(ResultSums, AreTheSameUnderLargeModelSupport) {
  const Passes at_home = run(block(), {}), away = run(block(), {.lms = true});
  EXPECT_EQ(away.summed, 4);
  EXPECT_GT(away.moved, 0);
  EXPECT_EQ(at_home.numbers, away.numbers);
}

/// Moments are shared then, and what is normalised is made of all of them.
TEST(ResultSums, ServeSynchronisedRanks) {
  for (const char* settings : {"", "batch_norm_param { sync: true }"}) {
    Twice ranks;
    std::vector<float> losses[2];
    for (const bool sums : {true, false}) {
      const WithPlainLibrary library(true);
      plain_library.sums = sums;
      SimDevice gpu(size_t{64} << 20, 0, "emulated");
      NetOptions options;
      options.device = &gpu;
      options.precision = DType::kF16;
      options.poison = true;
      Net net(net_def(kInput + conv("a", "x") + norm("a", settings) + loss_of("a")), options);
      EXPECT_EQ(plain_library.summed, sums ? 1 : 0);
      for (int pass = 0; pass < 3; ++pass) {
        fill_inputs(net, static_cast<uint64_t>(pass + 1));
        losses[sums].push_back(static_cast<float>(net.forward({.batch = 4, .ranks = &ranks})));
      }
      for (const ParamPtr& param : net.params()) {
        if (!param->statistic) continue;
        const auto values = net.blobs().read_param(*param);
        losses[sums].insert(losses[sums].end(), values.begin(), values.end());
      }
    }
    expect_close(losses[1], losses[0], 1, DType::kF16);
    EXPECT_EQ(ranks.sums > 0, *settings != 0);
  }
}

/// Running statistics are those of Caffe: the batch's mean and unbiased variance, once per pass.
TEST(ResultSums, AreAddedToStoredStatisticsOnce) {
  const std::string text = kInput + conv("a", "x") + norm("a") + loss_of("a");
  const auto statistics = [&](bool sums) {
    std::vector<std::vector<float>> found;
    const WithPlainLibrary library(true);
    plain_library.sums = sums;
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    NetOptions options;
    options.device = &gpu;
    options.precision = DType::kF16;
    Net net(net_def(text), options);
    for (int pass = 0; pass < 5; ++pass) {
      fill_inputs(net, static_cast<uint64_t>(pass + 1));
      net.forward({.batch = 4});
    }
    for (const ParamPtr& param : net.params()) {
      if (param->statistic) found.push_back(net.blobs().read_param(*param));
    }
    return found;
  };
  const auto with = statistics(true), without = statistics(false);
  ASSERT_EQ(with.size(), 3u);
  for (size_t s = 0; s < with.size(); ++s) expect_close(with[s], without[s], 1, DType::kF16);
  EXPECT_EQ(with[2], without[2]);
}

}  // namespace
}  // namespace robusta::test::result_sums_test
