// Activations of 16 bits: which values have them, what they cost, and that results stay close.

#include "net/plan/precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "net/tuning.h"
#include "support/errors.h"
#include "support/lms.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

class Emulated {
 public:
  Net net(std::optional<DType> precision, const std::string& text = kBranchyNet) {
    NetOptions options;
    options.device = &device_;
    options.precision = precision;
    return Net(net_def(text), options);
  }

 private:
  SimDevice device_{size_t{64} << 20, 0, "emulated"};
};

/// Of a blob that the plan holds.
DType type_of(const Net& net, const std::string& blob) {
  const ValueId value = net.plan().data[net.graph().find(blob)];
  return net.plan().values[value].desc.dtype;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0, length = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    apart += (a[i] - b[i]) * (a[i] - b[i]);
    length += b[i] * b[i];
  }
  return std::sqrt(apart / length);
}

/// Largest distance of a parameter's gradient from that of f32, with a loss scale. All gradients have to be rounded.
double gradients_apart(const std::string& text, DType type, double bound) {
  Emulated gpu;
  Net exact = gpu.net(DType::kF32, text), net = gpu.net(type, text);
  for (Net* each : {&exact, &net}) {
    each->set_loss_scale(1024);
    fill_inputs(*each, 1);
  }
  const float loss = run_once(exact)[0];
  EXPECT_NEAR(run_once(net)[0], loss, bound * loss);
  double most = 0;
  for (const ParamId p : net.params().ids()) {
    const Param &param = *net.params()[p], &other = *exact.params()[p];
    EXPECT_EQ(param.desc.dtype, DType::kF32);
    if (!param.learns) continue;
    const double apart = distance(net.blobs().read_param_diff(param), exact.blobs().read_param_diff(other));
    EXPECT_GT(apart, 0) << param.layer << " was computed in f32";
    most = std::max(most, apart);
  }
  return most;
}

/// Without corners: where a ReLU or a maximum tips over, gradients jump.
std::string smooth_net() {
  std::string text = kBranchyNet;
  for (const auto& [from, to] : {std::pair{"\"ReLU\"", "\"TanH\""}, {"pool: MAX", "pool: AVE"}}) {
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, std::strlen(from), to);
  }
  return text;
}

TEST(Precision, GradientsStayClose) {
  EXPECT_LT(gradients_apart(smooth_net(), DType::kBF16, 0.01), 0.03);
  EXPECT_LT(gradients_apart(smooth_net(), DType::kF16, 0.001), 0.004);
  EXPECT_LT(gradients_apart(kBranchyNet, DType::kBF16, 0.01), 0.15);
  EXPECT_LT(gradients_apart(kBranchyNet, DType::kF16, 0.001), 0.08);
}

TEST(Precision, LabelsAndLossesStayWide) {
  Emulated gpu;
  const Net net = gpu.net(DType::kBF16);
  for (const char* blob : {"data", "label", "loss", "side_loss", "acc"})
    EXPECT_EQ(type_of(net, blob), DType::kF32) << blob;
  for (const char* blob : {"c1", "sum", "cat", "norm", "pool", "fc"})
    EXPECT_EQ(type_of(net, blob), DType::kBF16) << blob;
  for (const Value& value : net.plan().values) {
    const bool narrow = value.label == "gradient of fc" || value.label == "gradient of sum";
    if (narrow || value.label == "gradient of loss") {
      EXPECT_EQ(value.desc.dtype, narrow ? DType::kBF16 : DType::kF32) << value.label;
    }
  }
  EXPECT_TRUE(net.diagnostics().stores(DType::kBF16));
  EXPECT_FALSE(net.diagnostics().stores(DType::kF16));
}

/// Only what enters the net is converted: data once, for its only reader.
TEST(Precision, ConversionsAreRare) {
  Emulated gpu;
  const Net net = gpu.net(DType::kF16);
  int converted = 0;
  for (const Step& step : net.plan().steps) {
    if (step.kind != StepKind::kReorder) continue;
    const auto type = [&](ValueId value) { return net.plan().values[value].desc.dtype; };
    converted += type(step.bottoms[0]) != type(step.tops[0]);
  }
  EXPECT_EQ(converted, 1);
}

constexpr const char* kTyped = R"(
  layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 5 } } }
  layer { name: "a" type: "TanH" bottom: "x" top: "a" }
  layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" forward_type: FLOAT backward_type: FLOAT
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "c" type: "Sigmoid" bottom: "b" top: "c" })";

TEST(Precision, FollowsNvidiasFields) {
  Emulated gpu;
  const std::string half = "default_forward_type: FLOAT16 default_backward_type: FLOAT16 ";
  const auto types = [&](const std::string& fields, std::optional<DType> precision = {}) {
    const Net net = gpu.net(precision, fields + kTyped);
    return std::vector<DType>{type_of(net, "x"), type_of(net, "a"), type_of(net, "b"), type_of(net, "c")};
  };
  constexpr DType kWide = DType::kF32, kHalf = DType::kF16, kBrain = DType::kBF16;
  EXPECT_EQ(types(half), (std::vector{kWide, kHalf, kWide, kHalf}));
  EXPECT_EQ(types(""), (std::vector{kWide, kWide, kWide, kWide}));
  EXPECT_EQ(types("default_forward_type: FLOAT16 "), (std::vector{kWide, kWide, kWide, kWide}));
  EXPECT_EQ(types("default_forward_type: DOUBLE default_backward_type: DOUBLE "),
            (std::vector{kWide, kWide, kWide, kWide}));
  EXPECT_EQ(types(half, kBrain), (std::vector{kWide, kBrain, kBrain, kBrain}));
  EXPECT_EQ(types(half, kWide), (std::vector{kWide, kWide, kWide, kWide}));
}

TEST(Precision, TheHostKeepsItsOwn) {
  NetOptions plain, half;
  half.precision = DType::kF16;
  Net a(net_def(kBranchyNet), plain), b(net_def(kBranchyNet), half);
  fill_inputs(a, 1);
  fill_inputs(b, 1);
  EXPECT_EQ(run_once(a), run_once(b));
  EXPECT_FALSE(b.diagnostics().stores(DType::kF16));
}

TEST(Precision, ALossScaleMultipliesAllGradients) {
  SimDevice device(size_t{64} << 20, 0, "emulated");
  for (Device* where : {&cpu_device(), static_cast<Device*>(&device)}) {
    NetOptions options;
    options.device = where;
    Net net(net_def(kBranchyNet), options);
    fill_inputs(net, 1);
    const std::vector<float> plain = run_once(net);
    const Pass pass{.seed = 3, .first_sample = 40, .next_sample = 44, .batch = net.batch()};
    IdVector<ParamId, std::vector<float>> gradients;
    for (const ParamPtr& param : net.params()) gradients.push_back(net.blobs().read_param_diff(*param));
    net.set_loss_scale(1024);
    EXPECT_EQ(static_cast<float>(net.forward(pass)), plain[0]);
    net.backward(pass, false);
    for (const ParamId p : gradients.ids()) {
      for (float& x : gradients[p]) x *= 1024;
      EXPECT_EQ(net.blobs().read_param_diff(*net.params()[p]), gradients[p]) << net.params()[p]->layer;
    }
  }
}

TEST(Precision, HalvesMemoryAndWhatLargeModelSupportMoves) {
  SimDevice device(kPlenty, 0, "emulated");
  const auto planned = [&](DType type) {
    NetOptions options = resident_options(device, 4);
    options.precision = type;
    options.plan_only = true;
    options.lms.mode = LmsOptions::Mode::kThreshold;
    return Net(model_def("resnet50"), options);
  };
  const Net wide = planned(DType::kF32), narrow = planned(DType::kBF16);
  const auto ratio = [](size_t small, size_t large) { return static_cast<double>(small) / static_cast<double>(large); };
  EXPECT_NEAR(ratio(narrow.plan().offloading.bytes_out, wide.plan().offloading.bytes_out), 0.5, 0.02);
  EXPECT_NEAR(ratio(narrow.plan().unshared_bytes, wide.plan().unshared_bytes), 0.5, 0.01);
  EXPECT_LT(narrow.plan().offloading.resident_arena_bytes, wide.plan().offloading.resident_arena_bytes);
}

TEST(Precision, HasNames) {
  const Device& host = cpu_device();
  EXPECT_EQ(precision_from("", host, nullptr), std::nullopt);
  EXPECT_EQ(precision_from("f32", host, nullptr), DType::kF32);
  EXPECT_EQ(precision_from("bf16", host, nullptr), DType::kBF16);
  EXPECT_EQ(precision_from("fp16", host, nullptr), DType::kF16);
  EXPECT_TRUE(contains(error_of([&] { precision_from("bp16", host, nullptr); }).what(), "bf16"));
}

/// On the host the tuner measures; a GPU has its units or has them not.
TEST(Precision, AutoIsWhatIsFastest) {
  RecordingTuner tuner("");
  const SimDevice gpu(size_t{1} << 20, 0, "emulated");
  EXPECT_EQ(precision_from("auto", cpu_device(), &tuner), DType::kBF16);
  EXPECT_EQ(precision_from("auto", cpu_device(), nullptr), DType::kF32);
  EXPECT_EQ(precision_from("auto", gpu, nullptr), DType::kBF16);
}

}  // namespace
}  // namespace robusta::test
