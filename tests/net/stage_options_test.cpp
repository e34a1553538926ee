// Nets that are parts of a larger one: gradients begin in their outputs and end in their inputs; and a net that holds
// parameters for others.
#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test::stage_options_test {
namespace {

constexpr Pass kPass{.seed = 3, .first_sample = 0, .next_sample = 2, .batch = 2};

const std::string kInput = "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }\n";
const std::string kLower =
    "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: 4\n"
    "  weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n";
const std::string kUpper =
    "layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' inner_product_param { num_output: 2\n"
    "  weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'sum' type: 'Reduction' bottom: 'b' top: 'sum' loss_weight: 0.5\n"
    "  reduction_param { operation: SUMSQ } }\n";
const std::string kBetween = "layer { name: 'a' type: 'Input' top: 'a' input_param { shape { dim: 2 dim: 4 } } }\n";

std::vector<float> gradients_of(Net& net) {
  std::vector<float> all;
  for (const ParamPtr& param : net.params()) {
    const std::vector<float> own = net.blobs().read_param_diff(*param);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

const std::vector<float> kX = {1, -2, 3, 0.5f, 2, -1};

/// Two nets, one above the other, are one.
TEST(StageOptions, GradientsGoFromInputsOfOneNetToOutputsOfAnother) {
  SimDevice device(size_t{4} << 20);
  for (Device* const place : {&cpu_device(), static_cast<Device*>(&device)}) {
    NetOptions plain, below, above;
    plain.device = below.device = above.device = place;
    below.seed_diffs = {"a"};
    above.input_diffs = {"a"};
    Net whole(net_def(kInput + kLower + kUpper), plain), lower(net_def(kInput + kLower), below),
        upper(net_def(kBetween + kUpper), above);
    whole.blobs().write("x", kX);
    const double loss = whole.forward(kPass);
    whole.backward(kPass, false);

    lower.blobs().write("x", kX);
    lower.forward(kPass);
    upper.blobs().write("a", lower.blobs().read("a"));
    EXPECT_EQ(upper.forward(kPass), loss);
    upper.backward(kPass, false);
    lower.blobs().write_diff("a", upper.blobs().read_diff("a"));
    lower.backward(kPass, false);
    std::vector<float> parts = gradients_of(lower), rest = gradients_of(upper);
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, gradients_of(whole));
  }
}

TEST(StageOptions, WithoutThemNobodyComputesGradientsThatNobodyAsksFor) {
  const Net lower(net_def(kInput + kLower), {}), upper(net_def(kBetween + kUpper), {});
  EXPECT_FALSE(lower.graph().nodes[NodeId(1)].backward);
  EXPECT_FALSE(upper.graph().nodes[NodeId(1)].bottom_grads[0]);
}

TEST(StageOptions, ANetMayHoldParametersAlone) {
  SimDevice device(size_t{1} << 20);
  NetOptions options;
  options.device = &device;
  options.params_only = true;
  const size_t before = device.bytes_in_use();
  Net net(net_def(kInput + kLower), options);
  // A weight of 4 x 3 and 4 biases, and as much for their gradients, each array on a boundary of 64 bytes.
  EXPECT_EQ(device.bytes_in_use() - before, 2u * (64 + 64));
  const Param& weight = *net.params()[ParamId(0)];
  EXPECT_EQ(net.blobs().read_param(weight), Net(net_def(kInput + kLower), {}).blobs().read_param(weight));
  EXPECT_EQ(error_of([&] { net.backward(kPass, false); }).kind(), ErrorKind::kMemory);
}

TEST(StageOptions, BatchesAreCutButForFixedSources) {
  NetOptions options;
  options.micro_batches = 2;
  const std::string text =
      "layer { name: 'd' type: 'DummyData' top: 'd' dummy_data_param { shape { dim: 6 dim: 2 } } }\n" + kInput;
  const Net cut(net_def(text), options);
  EXPECT_EQ(cut.blobs().shape("d"), (Shape{3, 2}));
  EXPECT_EQ(cut.blobs().shape("x"), (Shape{1, 3}));
  options.fixed_sources = {"in"};
  EXPECT_EQ(Net(net_def(text), options).blobs().shape("x"), (Shape{2, 3}));
  options.micro_batches = 4;
  const Error error = error_of([&] { Net(net_def(text), options); });
  EXPECT_TRUE(contains(error.what(),
                       "layer \"d\": a batch of 6 cannot be cut into 4 micro-batches; make it a multiple, "
                       "such as 8"))
      << error.what();
}

}  // namespace
}  // namespace robusta::test::stage_options_test
