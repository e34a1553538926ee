// bf16 on the host: which values have it, what the tuner may decide, and that results stay close.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/str.h"
#include "layers/types/convolution/convolution_types.h"
#include "net/net.h"
#include "net/plan/precision.h"
#include "ops/amx/tile_products.h"
#include "support/nets.h"

namespace robusta::test::host_precision_test {
namespace {

/// Two residual blocks and their end; `%` stands for a function that bends.
std::string residual_net(const std::string& bend) {
  std::string text = R"(
    layer { name: "in" type: "Input" top: "data" top: "label"
            input_param { shape { dim: 4 dim: 3 dim: 16 dim: 16 } shape { dim: 4 } } }
    layer { name: "c1" type: "Convolution" bottom: "data" top: "c1" convolution_param {
            num_output: 32 kernel_size: 3 stride: 2 pad: 1 bias_term: false weight_filler { type: "msra" } } }
    layer { name: "n1" type: "BatchNorm" bottom: "c1" top: "n1" }
    layer { name: "s1" type: "Scale" bottom: "n1" top: "s1" scale_param { bias_term: true } }
    layer { name: "r1" type: "%" bottom: "s1" top: "r1" }
    layer { name: "p1" type: "Pooling" bottom: "r1" top: "p1" pooling_param { pool: AVE kernel_size: 2 stride: 1 } }
    layer { name: "c2" type: "Convolution" bottom: "p1" top: "c2" convolution_param {
            num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "r2" type: "%" bottom: "c2" top: "r2" }
    layer { name: "sum" type: "Eltwise" bottom: "p1" bottom: "r2" top: "sum" }
    layer { name: "c3" type: "Convolution" bottom: "sum" top: "c3" convolution_param {
            num_output: 16 kernel_size: 1 weight_filler { type: "msra" } } }
    layer { name: "cat" type: "Concat" bottom: "c3" bottom: "sum" top: "cat" }
    layer { name: "end" type: "Pooling" bottom: "cat" top: "end" pooling_param { pool: AVE global_pooling: true } }
    layer { name: "fc" type: "InnerProduct" bottom: "end" top: "fc"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";
  for (size_t at; (at = text.find('%')) != std::string::npos;) text.replace(at, 1, bend);
  return text;
}

/// Decides what a convolution is stored as by the key that the tuner is asked with, and times nothing.
class ChooseType : public Tuner {
 public:
  explicit ChooseType(std::function<bool(const std::string& key)> wide) : wide_(std::move(wide)) {}
  int choose(const std::string& key, const std::vector<std::string>& options,
             const std::function<void(int)>& run) override {
    if (key.find("/type") == std::string::npos) return 0;
    EXPECT_EQ(options, (std::vector<std::string>{"bf16", "f32"}));
    for (const int option : {0, 1}) run(option);  // either can be timed
    ++asked;
    return wide_(key);
  }
  int asked = 0;

 private:
  std::function<bool(const std::string& key)> wide_;
};

Net host_net(DType precision, const std::string& text, Tuner* tuner = nullptr) {
  NetOptions options;
  options.precision = precision;
  options.tuner = tuner;
  return Net(net_def(text), options);
}

DType type_of(const Net& net, const std::string& blob) {
  return net.plan().values[net.plan().data[net.graph().find(blob)]].desc.dtype;
}

/// As bits of `blobs`, in their order: 1 where bf16 is stored.
std::string narrow(const Net& net, std::initializer_list<const char*> blobs) {
  std::string bits;
  for (const char* blob : blobs) bits += type_of(net, blob) == DType::kBF16 ? '1' : '0';
  return bits;
}

/// The largest distance of a parameter's gradient from that in f32, in lengths of the latter.
double gradients_apart(Net& net, Net& exact) {
  for (Net* each : {&net, &exact}) fill_inputs(*each, 1);
  const float loss = run_once(exact)[0];
  EXPECT_NEAR(run_once(net)[0], loss, 0.01 * loss);
  double most = 0;
  for (const ParamId p : net.params().ids()) {
    if (!net.params()[p]->learns) continue;
    const auto a = net.blobs().read_param_diff(*net.params()[p]), b = exact.blobs().read_param_diff(*exact.params()[p]);
    double apart = 0, length = 0;
    for (size_t i = 0; i < a.size(); ++i) apart += std::pow(a[i] - b[i], 2), length += std::pow(b[i], 2);
    most = std::max(most, std::sqrt(apart / length));
  }
  return most;
}

class HostPrecision : public testing::Test {
  void SetUp() override {
    if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  }
};

TEST_F(HostPrecision, ActivationsAreNarrowAndLossesWide) {
  const Net net = host_net(DType::kBF16, residual_net("ReLU"));
  EXPECT_EQ(narrow(net, {"data", "label", "loss"}), "000");
  EXPECT_EQ(narrow(net, {"fc"}), amx::is_there() ? "1" : "0");
  EXPECT_EQ(narrow(net, {"r1", "p1", "r2", "sum", "c3", "cat", "end"}), "1111111");
}

TEST_F(HostPrecision, GradientsStayClose) {
  for (const auto& [bend, bound] : {std::pair{"TanH", 0.03}, {"ReLU", 0.15}}) {
    Net net = host_net(DType::kBF16, residual_net(bend)), exact = host_net(DType::kF32, residual_net(bend));
    const double apart = gradients_apart(net, exact);
    EXPECT_LT(apart, bound) << bend;
    EXPECT_GT(apart, 1e-4) << bend;
  }
}

/// What lies between convolutions follows them; a sum follows any of its bottoms.
TEST_F(HostPrecision, TheTunerMixesTypes) {
  const auto first_wide = [](const std::string& key) { return key.find("ic3oc32") != std::string::npos; };
  ChooseType tuner(first_wide);
  Net net = host_net(DType::kBF16, residual_net("TanH"), &tuner), exact = host_net(DType::kF32, residual_net("TanH"));
  EXPECT_GE(tuner.asked, 3);
  EXPECT_EQ(narrow(net, {"r1", "p1", "r2", "sum", "c3", "cat"}), "001111");
  EXPECT_LT(gradients_apart(net, exact), 0.03);
}

TEST_F(HostPrecision, WhereF32IsFasterEverywhereItIsF32) {
  ChooseType tuner([](const std::string&) { return true; });
  Net net = host_net(DType::kBF16, residual_net("ReLU"), &tuner), exact = host_net(DType::kF32, residual_net("ReLU"));
  EXPECT_FALSE(net.diagnostics().stores(DType::kBF16));
  EXPECT_EQ(gradients_apart(net, exact), 0);
  EXPECT_EQ(net.plan().unshared_bytes, exact.plan().unshared_bytes);
}

/// By matrix units it stores bf16, and its loss, in f32, is right behind it.
TEST(HostPrecisionOfProducts, GradientsStayClose) {
  const amx::PretendThereAreUnits pretend;
  const std::string text = R"(
    layer { name: "in" type: "Input" top: "data" top: "label"
            input_param { shape { dim: 4 dim: 48 } shape { dim: 4 } } }
    layer { name: "fc1" type: "InnerProduct" bottom: "data" top: "fc1"
            inner_product_param { num_output: 40 weight_filler { type: "xavier" } } }
    layer { name: "bend" type: "TanH" bottom: "fc1" top: "bend" }
    layer { name: "fc" type: "InnerProduct" bottom: "bend" top: "fc"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";
  Net net = host_net(DType::kBF16, text), exact = host_net(DType::kF32, text);
  EXPECT_EQ(narrow(net, {"data", "label", "fc1", "bend", "fc", "loss"}), "001110");
  const double apart = gradients_apart(net, exact);
  EXPECT_LT(apart, 0.02);
  EXPECT_GT(apart, 1e-4);
}

}  // namespace
}  // namespace robusta::test::host_precision_test
