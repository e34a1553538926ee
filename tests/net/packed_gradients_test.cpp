// Gradients of filters that convolutions leave in their own order, and that are brought back together: the same bits as
// where each convolution does it itself, however the pass is run.
#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "net/run/arrays.h"
#include "support/nets.h"
#include "support/plain_library.h"

namespace robusta::test::packed_gradients_test {
namespace {

/// Convolutions one after the other, of which the second and the last may share their filters.
std::string net_text(const std::string& shared = "") {
  const auto conv = [](const std::string& name, const std::string& from, const std::string& size,
                       const std::string& param) {
    return str("layer { name: '", name, "' type: 'Convolution' bottom: '", from, "' top: '", name, "' ", param,
               " convolution_param { num_output: 8 ", size, " weight_filler { type: 'msra' } } }\n");
  };
  return "layer { name: 'in' type: 'Input' top: 'x' top: 'label' "
         "input_param { shape { dim: 3 dim: 8 dim: 6 dim: 5 } shape { dim: 3 } } }\n" +
         conv("one", "x", "kernel_size: 3 pad: 1", "") + conv("two", "one", "kernel_size: 3 pad: 1", shared) +
         "layer { name: 'relu' type: 'ReLU' bottom: 'two' top: 'two' }\n" + conv("three", "two", "kernel_size: 1", "") +
         conv("four", "three", "kernel_size: 3 pad: 1", shared) +
         "layer { name: 'fc' type: 'InnerProduct' bottom: 'four' top: 'fc' "
         "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
}

/// Convolutions are a library's (support/plain_library.h).
class PackedGradients : public ::testing::Test {
  const WithPlainLibrary library_{true};
};

NetOptions options_for(SimDevice& gpu, DType precision, bool together) {
  NetOptions options;
  options.device = &gpu;
  options.precision = precision;
  options.poison = true;
  // With large model support nothing is kept packed.
  if (!together) options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = size_t{1} << 40};
  return options;
}

/// Looks at each gradient when it is told of it; every so many are waited for.
class Looker : public GradientSink {
 public:
  Looker(Stream& stream, int every) : stream_(stream), every_(every) {}
  void ready(Param& param) override {
    const std::vector<float> numbers = read_array(stream_, param.gradient());
    seen.insert(seen.end(), numbers.begin(), numbers.end());
    ++count_;
  }
  bool urgent(const Param&) const override { return every_ > 0 && ++asked_ % every_ == 0; }
  std::vector<float> seen;

 private:
  Stream& stream_;
  int every_, count_ = 0;
  mutable int asked_ = 0;
};

std::vector<float> gradients_of(Net& net) {
  std::vector<float> all;
  for (const ParamPtr& param : net.params()) {
    const std::vector<float> numbers = read_array(net.stream(), param->gradient());
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

/// Some passes of whose gradients every second one is added to those before.
std::vector<float> run(Net& net, int passes) {
  std::vector<float> all;
  for (int pass = 0; pass < passes; ++pass) {
    fill_inputs(net, static_cast<uint64_t>(1 + pass));
    net.forward(Pass{.batch = 3});
    net.backward(Pass{.batch = 3}, pass % 2 == 1);
    const std::vector<float> gradients = gradients_of(net);
    all.insert(all.end(), gradients.begin(), gradients.end());
  }
  return all;
}

TEST_F(PackedGradients, AreThoseThatEachConvolutionBringsBackItself) {
  for (const DType precision : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const bool graphs : {true, false}) {
      std::vector<float> results[2];
      uint64_t kernels[2];
      for (const bool together : {false, true}) {
        SimDevice gpu(size_t{64} << 20, 0, "emulated");
        gpu.set_graphs(graphs);
        Net net(net_def(net_text()), options_for(gpu, precision, together));
        // In f32 filters of one tap have the library's order.
        const size_t packed = precision == DType::kF32 ? 3 : 4;
        EXPECT_EQ(net.plan().packed_gradients.size(), together ? packed : 0);
        results[together] = run(net, 6);
        const uint64_t before = gpu.kernels();
        net.backward(Pass{.batch = 3}, false);
        net.stream().synchronize();
        kernels[together] = gpu.kernels() - before;
        if (together) {
          // Packed copies of filters, too, each of which backward makes itself where nothing is kept.
          const size_t copies = precision == DType::kF32 ? 2 : 4;
          EXPECT_EQ(kernels[1] + packed - 1 + copies, kernels[0]) << name_of(precision) << graphs;
        }
      }
      EXPECT_EQ(results[0], results[1]) << name_of(precision) << graphs;
      EXPECT_NE(results[0], std::vector<float>(results[0].size(), 0.0f));
    }
  }
}

/// Whoever is told of a gradient finds it, wherever segments end, and in every pass: run, recorded and launched.
TEST_F(PackedGradients, AreThereWhenTheyAreComplete) {
  std::vector<float> expected;
  for (const bool graphs : {false, true}) {
    for (const int every : {1, 2, 3, 0}) {
      SimDevice gpu(size_t{64} << 20, 0, "emulated");
      gpu.set_graphs(graphs);
      Net net(net_def(net_text()), options_for(gpu, DType::kBF16, true));
      Looker looker(net.stream(), every);
      for (int pass = 0; pass < 4; ++pass) {
        fill_inputs(net, static_cast<uint64_t>(1 + pass));
        net.forward(Pass{.batch = 3});
        net.backward(Pass{.batch = 3}, false, &looker);
      }
      if (expected.empty()) expected = looker.seen;
      EXPECT_EQ(looker.seen, expected) << graphs << every;
    }
  }
}

/// Filters of two layers get their gradient in parts, which are added as they come.
TEST_F(PackedGradients, OfSharedFiltersAreAdded) {
  const std::string shared = "param { name: 'w' } param { name: 'b' }";
  std::vector<float> results[2];
  for (const bool together : {false, true}) {
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    Net net(net_def(net_text(shared)), options_for(gpu, DType::kBF16, together));
    EXPECT_EQ(net.plan().packed_gradients.size(), together ? 2 : 0);
    results[together] = run(net, 4);
  }
  EXPECT_EQ(results[0], results[1]);
}

/// A filter that does not learn has no gradient, and no memory for one.
TEST_F(PackedGradients, AreOfFiltersThatLearn) {
  std::vector<float> results[2];
  for (const bool together : {false, true}) {
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    Net net(net_def(net_text("param { lr_mult: 0 } param { lr_mult: 1 }")), options_for(gpu, DType::kBF16, together));
    EXPECT_EQ(net.plan().packed_gradients.size(), together ? 2 : 0);
    results[together] = run(net, 4);
  }
  EXPECT_EQ(results[0], results[1]);
}

/// A convolution of few channels and a stride is folded in 16 bits; backward finds the folded image that forward has
/// made.
TEST_F(PackedGradients, OfAFoldedConvolutionAreUnfolded) {
  const std::string text =
      "layer { name: 'in' type: 'Input' top: 'x' top: 'label' "
      "input_param { shape { dim: 3 dim: 3 dim: 11 dim: 9 } shape { dim: 3 } } }\n"
      "layer { name: 'one' type: 'Convolution' bottom: 'x' top: 'one' convolution_param { num_output: 8 kernel_size: 5 "
      "stride: 2 pad: 2 weight_filler { type: 'msra' } } }\n"
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'one' top: 'fc' "
      "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
  std::vector<float> results[2];
  for (const bool folded : {false, true}) {
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    plain_library.on = folded;
    Net net(net_def(text), options_for(gpu, DType::kBF16, true));
    bool keeps = false;
    for (const Value& value : net.plan().values) keeps = keeps || value.label == "saved of one";
    EXPECT_EQ(keeps, folded);
    results[folded] = run(net, 4);
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    ASSERT_NEAR(results[0][i], results[1][i], 0.02 * (1 + std::abs(results[0][i]))) << i;
  }
}

/// Their memory is in the plan: alive from the step that leaves one to the last.
TEST_F(PackedGradients, HaveMemoryUntilBackwardEnds) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  const Net net(net_def(net_text()), options_for(gpu, DType::kBF16, true));
  const Plan& plan = net.plan();
  ASSERT_EQ(plan.packed_gradients.size(), 4u);
  for (const PackedGradient& gradient : plan.packed_gradients) {
    const Value& memory = plan.values[gradient.memory];
    EXPECT_EQ(memory.first, gradient.step);
    EXPECT_EQ(memory.last, plan.steps.end_id() - 1);
    EXPECT_EQ(memory.bytes, static_cast<size_t>(gradient.param->desc.count()) * 2);
    EXPECT_LE(memory.offset + memory.bytes, plan.arena_bytes);
    for (const Value& other : plan.values) {
      if (&other == &memory || other.persistent || !other.first || other.bytes == 0) continue;
      const bool meet = other.last >= memory.first && other.first <= memory.last;
      const bool apart = other.offset + other.bytes <= memory.offset || memory.offset + memory.bytes <= other.offset;
      EXPECT_TRUE(apart || !meet) << other.label << " lies on " << memory.label;
    }
  }
}

}  // namespace
}  // namespace robusta::test::packed_gradients_test
