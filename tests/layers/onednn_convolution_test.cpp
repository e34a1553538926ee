// Convolution on oneDNN against the reference, over shapes that meet blocks, groups and borders in different ways.

#include <gtest/gtest.h>

#include "base/simd.h"
#include "base/str.h"
#include "layers/backends/onednn/convolution_problem.h"
#include "support/convolution_cases.h"
#include "support/kernel_checks.h"

namespace robusta::test::onednn_convolution_test {
namespace {

constexpr double kWinogradTolerance = 1e-4;

TEST(OnednnConvolution, MatchesReference) {
  for (const KernelCase& what : blocked_convolution_cases()) compare_with_reference("onednn", what);
}

TEST(OnednnConvolution, WithRelu) {
  for (KernelCase what : blocked_convolution_cases()) {
    what.layers.push_back("type: 'ReLU'");
    compare_with_reference("onednn", what);
  }
  compare_with_reference("onednn", {{convolution_text("num_output: 20 kernel_size: 3"),
                                     "type: 'ReLU' relu_param { negative_slope: 0.25 }"},
                                    {{2, 16, 6, 6}}});
}

TEST(OnednnConvolution, WinogradWhereItPays) {
  const KernelCase one{{convolution_text("num_output: 64 kernel_size: 3 pad: 1")}, {{6, 64, 10, 9}}};
  const KernelCase groups{{convolution_text("num_output: 128 kernel_size: 3 pad: 1 group: 2")}, {{8, 128, 9, 9}}};
  for (KernelCase what : {one, groups}) {
    compare_with_reference("onednn", what, kWinogradTolerance);
    what.layers.push_back("type: 'ReLU'");
    compare_with_reference("onednn", what, kWinogradTolerance);
  }
}

/// Every way that is offered must compute the same, not only the one that is taken untried.
class EveryOption : public Tuner {
 public:
  explicit EveryOption(int option) : option_(option) {}
  int choose(const std::string& key, const std::vector<std::string>& options,
             const std::function<void(int)>& run) override {
    keys.push_back(key);
    for (size_t i = 0; i < options.size(); ++i) run(static_cast<int>(i));
    return std::min(option_, static_cast<int>(options.size()) - 1);
  }
  std::vector<std::string> keys;

 private:
  int option_;
};

TensorDesc f32(const Shape& shape) { return {shape, DType::kF32, nullptr}; }

/// What the tuner is asked when a convolution is planned that Winograd's method serves. Machines without wide vectors
/// have nothing to choose from.
std::vector<std::string> asked_of_tuner(bool backward) {
  EveryOption tuner(1);
  const auto layer = make_layer([] {
    caffe::LayerParameter param = parse_layer(convolution_text("num_output: 64 kernel_size: 3 pad: 1"));
    param.set_name("conv");
    return param;
  }());
  const Shape bottom{2, 64, 16, 16};
  KernelRequest request;
  request.layers = {layer.get()};
  request.bottoms = {f32(bottom)};
  request.tops = {f32(layer->infer_tops({bottom})[0])};
  request.params = {f32({64, 64, 3, 3}), f32({64})};
  request.backward = backward;
  request.bottom_grads = {backward};
  request.param_grads = {backward, backward};
  request.tuner = &tuner;
  std::string why_not;
  const auto* candidate = kernel_candidates(request.layers, "cpu")[0];
  EXPECT_EQ(candidate->backend, "onednn");
  EXPECT_TRUE(candidate->factory(request, why_not)) << why_not;
  for (const std::string& key : tuner.keys) EXPECT_EQ(key.find(' '), std::string::npos) << key;
  return tuner.keys;
}

TEST(OnednnConvolution, TunerSeesEachDirectionOnce) {
  EXPECT_EQ(asked_of_tuner(true).size(), vector_lanes() > 0 ? 3u : 0u);
}

TEST(OnednnConvolution, TunerSeesTheForwardPassOfInference) {
  EXPECT_EQ(asked_of_tuner(false).size(), vector_lanes() > 0 ? 1u : 0u);
}

TEST(OnednnConvolution, FoldsConstantBatchNorm) {
  const std::string norm = "type: 'BatchNorm'", scale = "type: 'Scale' scale_param { bias_term: true }";
  for (const char* bias : {"true", "false"}) {
    const std::string first = convolution_text(std::string("num_output: 24 kernel_size: 3 pad: 1 bias_term: ") + bias);
    for (std::vector<std::string> chain : {std::vector<std::string>{first, norm},
                                           {first, norm, scale},
                                           {first, norm, scale, "type: 'ReLU'"},
                                           {first, norm, "type: 'ReLU'"}}) {
      const KernelCase what{chain, {{2, 16, 7, 7}}, caffe::TEST};
      const KernelInputs inputs = make_inputs(what);
      const KernelOutputs want = run_reference(what, inputs, {.backward = false});
      KernelHarness harness(what, {.backend = "onednn", .dtype = DType::kF32, .backward = false});
      ASSERT_TRUE(harness.made()) << harness.why_not();
      harness.forward(inputs.bottoms, inputs.params);
      expect_near(harness.tops()[0], want.tops[0], 1e-5, chain.back());
      // Other parameters must be noticed.
      Arrays other = inputs.params;
      for (double& value : other[0]) value *= 2;
      KernelInputs changed = inputs;
      changed.params = other;
      harness.forward(inputs.bottoms, other);
      expect_near(harness.tops()[0], run_reference(what, changed, {.backward = false}).tops[0], 1e-5, "changed");
      EXPECT_EQ(harness.damage(), "");
    }
  }
}

TEST(OnednnConvolution, Declines) {
  const std::string small = convolution_text("num_output: 16 kernel_size: 3");
  expect_declined("onednn", {{small}, {{2, 16, 5, 5}, {2, 16, 5, 5}}, caffe::TRAIN, 2}, "one bottom");
  expect_declined("onednn", {{small, "type: 'ReLU' relu_param { negative_slope: -1 }"}, {{2, 16, 5, 5}}}, "slope");
  expect_declined("onednn", {{small, "type: 'BatchNorm'"}, {{2, 16, 5, 5}}}, "constant");
  expect_declined("onednn", {{convolution_text("num_output: 16 kernel_size: 3 axis: 2")}, {{2, 3, 16, 5, 5}}},
                  "axis 1");
}

TEST(OnednnConvolution, DeclinesDoubles) {
  const KernelHarness harness({{convolution_text("num_output: 16 kernel_size: 3")}, {{2, 16, 5, 5}}},
                              {.backend = "onednn", .dtype = DType::kF64});
  EXPECT_FALSE(harness.made());
  EXPECT_NE(harness.why_not().find("f32"), std::string::npos);
}

}  // namespace
}  // namespace robusta::test::onednn_convolution_test
