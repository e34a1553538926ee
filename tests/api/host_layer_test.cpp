// Layers of type "Python", whose code is here in C++: when it is called, and where its arrays go, on processors and on
// the fake accelerator.

#define ROBUSTA_INSIDE  // the engine's net runs on the fake accelerator, which the public one does not offer

#include <gtest/gtest.h>

#include <map>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "robusta/host_layer.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

using v1::DType;
using v1::HostCall;
using v1::TensorView;

/// A top and a parameter in memory of its own.
class Code : public v1::HostLayer {
 public:
  std::vector<v1::Shape> tops() const override { return {shape_}; }
  std::vector<TensorView> parameters() const override { return {}; }

 protected:
  std::vector<TensorView> top() {
    numbers_.resize(static_cast<size_t>(v1::count(shape_)));
    return {v1::plain_view(numbers_.data(), DType::kF32, shape_)};
  }
  v1::Shape shape_;
  std::vector<float> numbers_;
};

/// Its k-th batch has k + 1 samples of k.
class Growing : public Code {
 public:
  void reshape(const std::vector<v1::Shape>&) override {
    if (shape_.empty()) shape_ = {1, 2};
  }
  std::vector<TensorView> forward(const HostCall&) override {
    shape_ = {++passes_, 2};
    std::vector<TensorView> made = top();
    std::fill(numbers_.begin(), numbers_.end(), static_cast<float>(passes_ - 1));
    return made;
  }
  void backward(const HostCall&) override {}

 private:
  int64_t passes_ = 0;
};

/// Leaves out what is not positive; one zero where nothing is. Backward puts gradients where they belong.
class Positive : public Code {
 public:
  void reshape(const std::vector<v1::Shape>& bottoms) override { shape_ = {v1::count(bottoms[0])}; }
  std::vector<TensorView> forward(const HostCall& call) override {
    places_.clear();
    const auto x = call.bottoms[0].elements<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] > 0) places_.push_back(i);
    }
    shape_ = {static_cast<int64_t>(std::max<size_t>(places_.size(), 1))};
    std::vector<TensorView> made = top();
    numbers_.assign(numbers_.size(), 0);
    for (size_t k = 0; k < places_.size(); ++k) numbers_[k] = x[places_[k]];
    return made;
  }
  void backward(const HostCall& call) override {
    if (!call.bottom_gradients[0]) return;
    const auto dx = call.bottom_gradients[0].elements<float>();
    for (size_t k = 0; k < places_.size(); ++k) dx[places_[k]] = call.top_gradients[0].elements<float>()[k];
  }

 private:
  std::vector<size_t> places_;
};

/// y = a x, a is 3 at first.
class Times : public Code {
 public:
  void reshape(const std::vector<v1::Shape>& bottoms) override { shape_ = bottoms[0]; }
  std::vector<TensorView> parameters() const override { return {v1::plain_view(&factor_, DType::kF32, {1})}; }
  std::vector<TensorView> forward(const HostCall& call) override {
    const auto x = call.bottoms[0].elements<float>();
    kept_.assign(x.begin(), x.end());
    std::vector<TensorView> made = top();
    for (size_t i = 0; i < x.size(); ++i) numbers_[i] = call.parameters[0].as<float>()[0] * x[i];
    return made;
  }
  void backward(const HostCall& call) override {
    const auto dy = call.top_gradients[0].elements<float>();
    for (size_t i = 0; i < dy.size(); ++i) {
      if (call.bottom_gradients[0]) {
        call.bottom_gradients[0].as<float>()[i] = call.parameters[0].as<float>()[0] * dy[i];
      }
      if (call.parameter_gradients[0]) call.parameter_gradients[0].as<float>()[0] += dy[i] * kept_[i];
    }
  }

 private:
  mutable float factor_ = 3;
  std::vector<float> kept_;
};

/// Gives a top of another shape than it says, and is wrong in other ways.
class Wrong : public Times {
 public:
  std::vector<TensorView> forward(const HostCall& call) override {
    std::vector<TensorView> made = Times::forward(call);
    shape_.push_back(1);
    return made;
  }
};
class TwoTops : public Times {
 public:
  std::vector<v1::Shape> tops() const override { return {shape_, shape_}; }
};

void make_layers_here() {
  v1::set_host_layers([](const v1::HostLayerSpec& spec) -> std::unique_ptr<v1::HostLayer> {
    const std::string& layer = spec.layer;
    if (layer == "Growing") return std::make_unique<Growing>();
    if (layer == "Positive") return std::make_unique<Positive>();
    if (layer == "Times") return std::make_unique<Times>();
    if (layer == "Wrong") return std::make_unique<Wrong>();
    if (layer == "TwoTops") return std::make_unique<TwoTops>();
    throw Error(ErrorKind::kConfig, "there is no " + layer);
  });
}

std::string python(const std::string& name, const std::string& bottom, const std::string& layer) {
  return "layer { name: '" + name + "' type: 'Python' " + (bottom.empty() ? "" : "bottom: '" + bottom + "' ") +
         "top: '" + name + "' python_param { module: 'm' layer: '" + layer + "' } }\n";
}

Pass nth(uint64_t k) { return {.seed = 1, .first_sample = k, .next_sample = k + 1, .batch = 1}; }

/// On a processor, and emulated; in f64, too.
class HostLayerTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    make_layers_here();
    options_.keep_blobs = true;
    if (GetParam() == std::string("f64")) options_.dtype = robusta::DType::kF64;
    if (GetParam() != std::string("emulated")) return;
    gpu_ = std::make_unique<SimDevice>(size_t{1} << 22, 0, "emulated");
    options_.device = gpu_.get();
  }

  std::unique_ptr<SimDevice> gpu_;
  NetOptions options_;
};

TEST_P(HostLayerTest, SourcesMayGiveBatchesOfAnySize) {
  options_.backward = false;
  Net net(net_def(python("x", "", "Growing") +
                  "layer { name: 'y' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 10 } }"),
          options_);
  for (uint64_t k = 0; k < 3; ++k) {
    net.forward(nth(k));
    EXPECT_EQ(net.blobs().shape("y"), (Shape{static_cast<int64_t>(k) + 1, 2}));
    EXPECT_EQ(net.blobs().read("y"), std::vector<float>(2 * (k + 1), static_cast<float>(10 * k)));
  }
}

TEST_P(HostLayerTest, TopsTakeTheirSizesInThePass) {
  options_.backward = true;
  Net net(net_def("force_backward: true layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 4 } } }" +
                  python("few", "x", "Positive") +
                  "layer { name: 'y' type: 'Power' bottom: 'few' top: 'y' power_param { scale: 2 } }"
                  "layer { name: 'sum' type: 'Reduction' bottom: 'y' top: 'sum' loss_weight: 1 }"),
          options_);
  struct Case {
    std::vector<float> x, few, slope;
  };
  const Case cases[] = {{{1, -1, 2, 3}, {1, 2, 3}, {2, 0, 2, 2}},
                        {{-1, -1, -1, 5}, {5}, {0, 0, 0, 2}},
                        {{1, 1, 1, 1}, {1, 1, 1, 1}, {2, 2, 2, 2}},
                        {{-1, -2, -3, -4}, {0}, {0, 0, 0, 0}}};
  uint64_t k = 0;
  for (const Case& one : cases) {
    net.blobs().write("x", one.x);
    net.forward(nth(k));
    EXPECT_EQ(net.blobs().read("few"), one.few);
    net.backward(nth(k++), false);
    EXPECT_EQ(net.blobs().read_diff("x"), one.slope);
  }
}

TEST_P(HostLayerTest, ParametersLearn) {
  options_.backward = true;
  Net net(net_def("force_backward: true layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }" +
                  python("y", "x", "Times") +
                  "layer { name: 'sum' type: 'Reduction' bottom: 'y' top: 'sum' loss_weight: 1 }"),
          options_);
  const auto param = net.layer_params("y").at(0);
  EXPECT_EQ(net.blobs().read_param(*param), std::vector<float>{3});
  net.blobs().write("x", {1, 4});
  EXPECT_EQ(net.forward(nth(0)), 15);
  net.backward(nth(0), false);
  EXPECT_EQ(net.blobs().read_param_diff(*param), std::vector<float>{5});
  EXPECT_EQ(net.blobs().read_diff("x"), (std::vector<float>{3, 3}));
  net.blobs().write_param(*param, {2});
  EXPECT_EQ(net.forward(nth(1)), 10);
  net.backward(nth(1), true);
  EXPECT_EQ(net.blobs().read_param_diff(*param), std::vector<float>{10});
  EXPECT_EQ(net.blobs().read_diff("x"), (std::vector<float>{2, 2}));
}

INSTANTIATE_TEST_SUITE_P(Devices, HostLayerTest, testing::Values("f32", "f64", "emulated"),
                         [](const auto& info) { return std::string(info.param); });

TEST(HostLayerErrors, NameTheLayer) {
  make_layers_here();
  const std::string input = "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }";
  const auto build = [&](const std::string& layer) { return Net(net_def(input + python("y", "x", layer)), {}); };
  EXPECT_EQ(error_of([&] { build("Absent"); }).layer(), "y");
  EXPECT_TRUE(contains(error_of([&] { build("TwoTops"); }).what(), "2 tops, and the prototxt names 1"));
  Net net = build("Wrong");
  const Error error = error_of([&] { net.forward(nth(0)); });
  EXPECT_EQ(error.layer(), "y");
  EXPECT_TRUE(contains(error.what(), "another shape"));
}

}  // namespace
}  // namespace robusta::test
