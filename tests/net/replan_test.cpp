// A net whose planning fails - shapes that a layer refuses, memory that is not there - stays as it was.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// The input outlives the pass; `wide`, most of it, does not.
const char* const kWide = R"(
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 16 } } }
layer { name: "a" type: "InnerProduct" bottom: "x" top: "wide"
        inner_product_param { num_output: 1024 weight_filler { type: "xavier" } } }
layer { name: "b" type: "InnerProduct" bottom: "wide" top: "y"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } })";

constexpr size_t kRoom = size_t{1} << 20;

NetOptions inference_on(Device& device) {
  NetOptions options;
  options.device = &device;
  options.backward = false;
  return options;
}

std::vector<float> y_of(Net& net) {
  net.forward({.seed = 1, .first_sample = 0, .next_sample = 4, .batch = 4});
  return net.blobs().read("y");
}

TEST(Replanning, WithoutMemoryTheNetStaysUsable) {
  SimDevice device(kRoom);
  Net net(net_def(kWide), inference_on(device));
  fill_inputs(net, 1);
  const std::vector<float> y = y_of(net);
  // 2 MiB of `wide`; then 4 MiB of the input.
  for (const int64_t batch : {int64_t{512}, int64_t{1} << 16}) {
    EXPECT_EQ(error_of([&] { net.reshape_input("x", {batch, 16}); }).kind(), ErrorKind::kMemory);
    EXPECT_EQ(net.blobs().shape("x"), (Shape{4, 16}));
    EXPECT_EQ(net.blobs().shape("y"), (Shape{4, 2}));
    fill_inputs(net, 1);
    EXPECT_EQ(y_of(net), y);
  }
  net.reshape_input("x", {8, 16});
  EXPECT_EQ(net.blobs().shape("y"), (Shape{8, 2}));
}

TEST(Replanning, WithoutMemoryNetsOfTheSameArenaStayUsable) {
  SimDevice device(kRoom);
  NetOptions options = inference_on(device);
  options.arena = std::make_shared<Arena>(device);
  Net net(net_def(kWide), options), other(net_def(kWide), options);
  fill_inputs(other, 1);
  const std::vector<float> y = y_of(other);
  EXPECT_EQ(error_of([&] { net.reshape_input("x", {512, 16}); }).kind(), ErrorKind::kMemory);
  EXPECT_EQ(y_of(other), y);
}

TEST(Replanning, ABudgetIsChargedOnce) {
  SimDevice device(kRoom);
  NetOptions options = inference_on(device);
  options.budget = std::make_shared<MemoryBudget>();
  options.budget->limit = kRoom;
  Net net(net_def(kWide), options);
  fill_inputs(net, 1);
  const std::vector<float> y = y_of(net);
  const size_t taken = options.budget->taken;
  EXPECT_GT(taken, 0u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { net.reshape_input("x", {512, 16}); }).kind(), ErrorKind::kMemory);
    EXPECT_EQ(options.budget->taken, taken);
    EXPECT_EQ(y_of(net), y) << "what was written is still there";
  }
  net.reshape_input("x", {2, 16});
  EXPECT_LE(options.budget->taken, taken);
  net.reshape_input("x", {4, 16});
  EXPECT_EQ(options.budget->taken, taken);
}

TEST(Replanning, AShapeThatIsRefusedChangesNothing) {
  Net net(net_def(kWide), inference_on(cpu_device()));
  fill_inputs(net, 1);
  const std::vector<float> y = y_of(net);
  EXPECT_EQ(error_of([&] { net.reshape_input("x", {4, 17}); }).kind(), ErrorKind::kConfig) << "the weights are fixed";
  EXPECT_EQ(net.blobs().shape("x"), (Shape{4, 16}));
  EXPECT_EQ(y_of(net), y);
}

/// A source of ones whose width is 3, but 3 + first_sample from sample 10 on.
class WideningSource : public SourceLayer {
 public:
  using SourceLayer::SourceLayer;
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override { return {{1, width_}}; }
  bool prepare(const Pass& pass) override {
    const int64_t before = width_;
    width_ = pass.first_sample < 10 ? 3 : 3 + static_cast<int64_t>(pass.first_sample);
    return width_ != before;
  }
  void fill(std::span<const Tensor> tops, const Pass&) override {
    std::fill_n(tops[0].as<float>(), tops[0].count(), 1.0f);
  }
  void set_batch(int64_t) override {}

 private:
  int64_t width_ = 3;
};

ROBUSTA_REGISTER_LAYER("WideningSource", WideningSource);

/// A source of other shapes leaves what the program has written elsewhere.
TEST(Replanning, InputsOutliveBatchesOfOtherShapes) {
  SimDevice device(kRoom);
  for (Device* where : {&cpu_device(), static_cast<Device*>(&device)}) {
    Net net(net_def(R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
layer { name: "wide" type: "WideningSource" top: "w" }
layer { name: "p" type: "Power" bottom: "x" top: "y" power_param { scale: 2 } })"),
            inference_on(*where));
    net.blobs().write("x", {3, 4});
    for (const uint64_t first : {0, 10, 1, 12}) {
      net.forward({.seed = 1, .first_sample = first, .next_sample = first + 1});
      EXPECT_EQ(net.blobs().shape("w"), (Shape{1, first < 10 ? 3 : 3 + static_cast<int64_t>(first)}));
      EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{6, 8})) << first;
    }
  }
}

TEST(Replanning, ABatchThatDoesNotFitLeavesTheNetUsable) {
  Net net(net_def(R"(layer { name: "in" type: "WideningSource" top: "x" }
layer { name: "p" type: "Power" bottom: "x" top: "p" power_param { scale: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "p" top: "y"
        inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } })"),
          inference_on(cpu_device()));
  const auto pass_at = [](uint64_t first) { return Pass{.seed = 1, .first_sample = first, .next_sample = first + 1}; };
  net.forward(pass_at(0));
  for (const uint64_t first : {10, 11, 11}) {
    EXPECT_EQ(error_of([&] { net.forward(pass_at(first)); }).kind(), ErrorKind::kConfig);
    EXPECT_EQ(net.blobs().shape("x"), (Shape{1, 3}));
    EXPECT_EQ(net.blobs().shape("p"), (Shape{1, 3}));
    EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{6, 6}));
  }
  net.forward(pass_at(1));
  EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{6, 6}));
}

}  // namespace
}  // namespace robusta::test
