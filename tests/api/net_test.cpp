// The public net, used as a program that embeds the library would: by the public headers alone.

#include "robusta/net.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "robusta/log.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

/// y = W x + b of two samples, compared with a target.
const std::string kLine = R"(name: "line"
layer { name: "in" type: "Input" top: "x" top: "target" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 2 weight_filler { type: "gaussian" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "target" top: "loss" }
)";

const std::string kConvolution =
    R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 8 dim: 9 dim: 9 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "gaussian" } } }
layer { name: "relu" type: "ReLU" bottom: "y" top: "y" }
)";

std::vector<float> ramp(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  return numbers;
}

Net line_net() {
  NetOptions options;
  options.backward = true;
  Net net = Net::from_text(kLine, options);
  net.write_parameter("ip", 0, std::vector<float>{1, 0, 0, 0, 2, 0});  // y0 = x0 + 1, y1 = 2 x1 - 1
  net.write_parameter("ip", 1, std::vector<float>{1, -1});
  net.write("x", ramp(6));
  net.write("target", std::vector<float>{2, 3, 4, 9});
  return net;
}

TEST(ApiNetTest, RunsForwardAndBackward) {
  Net net = line_net();
  EXPECT_DOUBLE_EQ(net.forward(), 0.5 * (0 + 0 + 1 + 0) / 2);  // y = 2, 3; 5, 9
  EXPECT_EQ(net.read("loss"), std::vector<float>{0.25f});
  net.backward();
  EXPECT_EQ(net.read_parameter_gradient("ip", 0), (std::vector<float>{2, 2.5f, 3, 0, 0, 0}));
  EXPECT_EQ(net.read_parameter_gradient("ip", 1), (std::vector<float>{0.5f, 0}));
  net.forward();
  net.backward(/*add_to_gradients=*/true);
  EXPECT_EQ(net.read_parameter_gradient("ip", 1), (std::vector<float>{1, 0}));
}

TEST(ApiNetTest, TellsItsStructure) {
  const Net net = line_net();
  EXPECT_EQ(net.name(), "line");
  EXPECT_EQ(net.inputs(), (std::vector<std::string>{"x", "target"}));
  EXPECT_EQ(net.outputs(), std::vector<std::string>{"loss"});
  EXPECT_EQ(net.blobs(), (std::vector<std::string>{"x", "target", "y", "loss"}));
  EXPECT_EQ(net.shape("y"), (Shape{2, 2}));
  EXPECT_EQ(net.batch(), 2);
  ASSERT_EQ(net.layers().size(), 3u);
  EXPECT_EQ(net.layers()[1].type, "InnerProduct");
  EXPECT_EQ(net.layers()[1].parameters, 2);
  ASSERT_EQ(net.parameters().size(), 2u);
  EXPECT_EQ(net.parameters()[0].shape, (Shape{2, 3}));
}

TEST(ApiNetTest, ReshapesItsInput) {
  Net net = Net::from_text(kConvolution);
  net.reshape("x", {2, 8, 5, 7});
  EXPECT_EQ(net.shape("y"), (Shape{2, 16, 5, 7}));
  net.write("x", ramp(2 * 8 * 5 * 7));
  net.forward();
  EXPECT_EQ(net.read("y").size(), 2u * 16 * 5 * 7);
  EXPECT_EQ(error_of([&] { net.reshape("x", {2, 4, 5, 7}); }).kind(), ErrorKind::kConfig) << "the weights are fixed";
  EXPECT_EQ(error_of([&] { net.reshape("y", {1, 2}); }).kind(), ErrorKind::kUsage) << "no input";
  net.write("x", ramp(2 * 8 * 5 * 7));
  net.forward();
  EXPECT_EQ(net.shape("y"), (Shape{2, 16, 5, 7}));
}

TEST(ApiNetTest, RefusesWhatDoesNotFit) {
  Net net = line_net();
  EXPECT_EQ(error_of([&] { net.read("lost"); }).kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error_of([&] { net.read("lss"); }).what(), "loss"));
  EXPECT_EQ(error_of([&] { net.write("x", ramp(5)); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.read_parameter("ip", 2); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.read_parameter("relu", 0); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.write_parameter("ip", 0, ramp(5)); }).kind(), ErrorKind::kUsage);
  net.forward();
  EXPECT_EQ(error_of([&] { net.read("y"); }).kind(), ErrorKind::kUsage) << "not kept";
  EXPECT_DOUBLE_EQ(net.forward(), 0.25) << "errors leave a net usable";
}

TEST(ApiNetTest, ErrorsNameThePlace) {
  const Error error =
      error_of([] { Net::from_text("layer { name: 'a' type: 'ReLU' bottom: 'no' top: 'b' }", {}, "my"); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "my:1"));
  EXPECT_EQ(error.layer(), "a");
  EXPECT_EQ(error_of([] { Net::from_file("/no/such.prototxt"); }).kind(), ErrorKind::kConfig);
  NetOptions gpu;
  gpu.gpu = 77;
  EXPECT_NE(error_of([&] { Net::from_text(kLine, gpu); }).exit_code(), 0);
}

TEST(ApiNetTest, WarnsOnceOfAFieldThatChangesNothing) {
  std::vector<std::string> warnings;
  const LogScope scope([&](const LogLine& line) {
    if (line.severity == Severity::kWarning) warnings.emplace_back(line.text);
  });
  Net::from_text(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 } } }\n"
      "layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'y' relu_param { engine: CAFFE } }\n"
      "layer { name: 'b' type: 'ReLU' bottom: 'y' top: 'z' relu_param { engine: CAFFE } }\n",
      {}, "my");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "my:2: engine (Caffe) changes nothing here"));
  Net::from_text(kConvolution);
  EXPECT_EQ(warnings.size(), 1u) << "nothing to warn of";
}

TEST(ApiNetTest, BackwardHasToBePlanned) {
  Net net = Net::from_text(kLine);
  net.forward();
  EXPECT_EQ(error_of([&] { net.backward(); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.read_parameter_gradient("ip", 0); }).kind(), ErrorKind::kUsage);
}

TEST(ApiNetTest, KeepsBlobsAndCallsAfterEachLayer) {
  NetOptions options;
  options.keep_blobs = true;
  Net net = Net::from_text(kLine, options);
  std::vector<std::string> seen;
  std::vector<float> y;
  net.after_each_layer([&](const std::string& layer, bool) {
    seen.push_back(layer);
    if (layer == "ip") y = net.read("y");
  });
  net.forward();
  EXPECT_EQ(seen, (std::vector<std::string>{"in", "ip", "loss"}));
  EXPECT_EQ(y, net.read("y"));
  net.after_each_layer({});
  net.forward();
  EXPECT_EQ(seen.size(), 3u);
}

/// oneDNN's kernels keep a copy of their weights in an order of their own.
TEST(ApiNetTest, WritingThroughAViewReachesTheKernels) {
  Net net = Net::from_text(kConvolution), other = Net::from_text(kConvolution);
  net.write("x", ramp(648));
  other.write("x", ramp(648));
  const TensorView weights = net.parameter_view("conv", 0);
  EXPECT_EQ(weights.shape, (Shape{16, 8, 3, 3}));
  EXPECT_EQ(weights.strides, (std::vector<int64_t>{72, 9, 3, 1}));
  for (const float scale : {1.0f, -0.5f}) {
    net.forward();
    for (float& w : weights.elements<float>()) w *= scale;
  }
  other.forward();
  other.write_parameter("conv", 0, net.read_parameter("conv", 0));
  net.forward();
  other.forward();
  EXPECT_EQ(net.read("y"), other.read("y"));
}

TEST(ApiNetTest, ViewsAreTheMemoryItself) {
  Net net = line_net();
  const TensorView x = net.view("x"), loss = net.view("loss");
  EXPECT_EQ(x.shape, (Shape{2, 3}));
  EXPECT_EQ(std::vector<float>(x.elements<float>().begin(), x.elements<float>().end()), ramp(6));
  x.as<float>()[0] = 2;  // y = 3, 3; 5, 9
  EXPECT_DOUBLE_EQ(net.forward(), 0.5 * (1 + 0 + 1 + 0) / 2);
  EXPECT_EQ(loss.as<float>()[0], 0.5f);
  EXPECT_EQ(error_of([&] { net.view("y"); }).kind(), ErrorKind::kUsage) << "not kept";
  EXPECT_EQ(error_of([&] { net.gradient_view("x"); }).kind(), ErrorKind::kUnsupported) << "none is wanted";
}

TEST(ApiNetTest, WeightsGoThroughFilesAndAreShared) {
  const TempDir folder;
  Net net = line_net();
  net.save_weights(folder / "line.caffemodel");
  NetOptions options;
  options.seed = 5;
  Net loaded = Net::from_text(kLine, options);
  EXPECT_NE(loaded.read_parameter("ip", 0), net.read_parameter("ip", 0));
  EXPECT_EQ(loaded.load_weights(folder / "line.caffemodel").copied.size(), 1u);
  EXPECT_EQ(loaded.read_parameter("ip", 0), net.read_parameter("ip", 0));
  options.share_with = &net;
  const Net sharing = Net::from_text(kLine, options);
  net.write_parameter("ip", 1, std::vector<float>{7, 8});
  EXPECT_EQ(sharing.read_parameter("ip", 1), (std::vector<float>{7, 8}));
  EXPECT_EQ(error_of([&] { net.load_weights(folder / "none.caffemodel"); }).kind(), ErrorKind::kModel);
}

TEST(ApiNetTest, PositionDecidesTheBatch) {
  Net net = Net::from_text(R"(layer { name: "d" type: "DummyData" top: "x"
    dummy_data_param { shape { dim: 2 dim: 3 } data_filler { type: "gaussian" } } })");
  net.forward();
  const std::vector<float> first = net.read("x");
  EXPECT_EQ(net.position(), 2u);
  net.forward();
  EXPECT_NE(net.read("x"), first);
  net.seek(0);
  net.forward();
  EXPECT_EQ(net.read("x"), first);
}

/// Nets of different options in threads of one process compute what each computes alone.
TEST(ApiNetTest, NetsInThreadsDoNotDisturbEachOther) {
  const auto run = [](const NetOptions& options) {
    std::vector<float> sums;
    Net net = Net::from_text(kConvolution, options);
    for (int i = 0; i < 20; ++i) {
      net.write("x", ramp(648));
      net.forward();
      sums.push_back(net.read("y")[static_cast<size_t>(i)]);
    }
    return sums;
  };
  NetOptions fast, reference;
  reference.kernels = "reference";
  reference.seed = 9;
  reference.keep_blobs = reference.backward = true;
  reference.phase = Phase::kTrain;
  const std::vector<float> alone[] = {run(fast), run(reference)};
  std::vector<float> together[2];
  std::thread first([&] { together[0] = run(fast); }), second([&] { together[1] = run(reference); });
  first.join();
  second.join();
  EXPECT_EQ(together[0], alone[0]);
  EXPECT_EQ(together[1], alone[1]);
}

}  // namespace
}  // namespace robusta::test
