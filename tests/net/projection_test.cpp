// A residual block whose shortcut is a convolution with a BatchNorm of its own: the kernel that adds it normalises it,
// too, and it is neither written nor read.
#include <gtest/gtest.h>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"

namespace robusta::test::projection_test {
namespace {

std::string conv(const std::string& name, const std::string& from) {
  return str("layer { name: '", name, "' type: 'Convolution' bottom: '", from, "' top: '", name,
             "' convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'msra' } } }\n");
}

std::string norm(const std::string& of, const std::string& settings, bool scale = true) {
  const std::string in_place = "' bottom: '" + of + "' top: '" + of + "' ";
  std::string text = "layer { name: 'norm_" + of + "' type: 'BatchNorm" + in_place + settings + "}\n";
  if (scale) {
    text += "layer { name: 'scale_" + of + "' type: 'Scale" + in_place +
            "scale_param { bias_term: true filler { value: 0.7 } bias_filler { value: 0.2 } } }\n";
  }
  return text;
}

const char* const kRelu = "layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' }\n";

/// The block's sum takes `first` and `second` of "short", the projection, and "long".
std::string block(const std::string& first, const std::string& second, const std::string& size,
                  const std::string& short_norm, const std::string& tail) {
  return "layer { name: 'in' type: 'Input' top: 'x' top: 'label' input_param { shape { dim: 4 dim: 8 " + size +
         " } shape { dim: 4 } } }\n" + conv("stem", "x") + conv("short", "stem") + short_norm + conv("long", "stem") +
         norm("long", "") + "layer { name: 'sum' type: 'Eltwise' bottom: '" + first + "' bottom: '" + second +
         "' top: 'sum' }\n" + tail +
         "layer { name: 'fc' type: 'InnerProduct' bottom: 'sum' top: 'fc' "
         "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
}

struct Passes {
  std::vector<float> numbers;  ///< of three passes
  bool left = false;           ///< the projection's BatchNorm has no top
  size_t arena = 0;
  uint64_t kernels = 0;  ///< of the last pass
};

/// `together`: without large model support, with which every kernel makes what it is asked for.
Passes run(const std::string& text, DType precision, bool together, bool keep_blobs = false) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions options;
  options.device = &gpu;
  options.precision = precision;
  options.poison = true;
  options.keep_blobs = keep_blobs;
  if (!together) options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = size_t{1} << 40};
  Net net(net_def(text), options);
  Passes result;
  const Plan& plan = net.plan();
  for (const Step& step : plan.steps) {
    const Node& node = net.graph().nodes[plan.units[step.unit].nodes[0]];
    if (node.layer->name() != "norm_short" || step.kind != StepKind::kForward) continue;
    result.left = !step.tops[0];
  }
  result.arena = plan.arena_bytes;
  for (int pass = 0; pass < 3; ++pass) {
    fill_inputs(net, static_cast<uint64_t>(pass + 1));
    const uint64_t before = gpu.kernels();
    const std::vector<float> numbers = run_once(net);
    result.kernels = gpu.kernels() - before;
    result.numbers.insert(result.numbers.end(), numbers.begin(), numbers.end());
  }
  return result;
}

TEST(Projection, IsNormalisedWhereItIsAdded) {
  // In packs, where they divide an image, and without.
  for (const std::string size : {"dim: 8 dim: 4", "dim: 6 dim: 5", "dim: 3 dim: 3"}) {
    for (const DType precision : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const std::string tail : {kRelu, ""}) {
        for (const bool scale : {true, false}) {
          const std::string text = block("short", "long", size, norm("short", "", scale), tail);
          const Passes joined = run(text, precision, true), apart = run(text, precision, false);
          EXPECT_TRUE(joined.left);
          EXPECT_FALSE(apart.left);
          EXPECT_EQ(joined.numbers, apart.numbers) << size << name_of(precision) << tail << scale;
        }
      }
    }
  }
}

TEST(Projection, WhicheverTheSumTakesFirst) {
  const std::string one = block("short", "long", "dim: 8 dim: 4", norm("short", ""), kRelu),
                    other = block("long", "short", "dim: 8 dim: 4", norm("short", ""), kRelu);
  for (const std::string& text : {one, other}) {
    const Passes joined = run(text, DType::kBF16, true);
    EXPECT_TRUE(joined.left);
    EXPECT_EQ(joined.numbers, run(text, DType::kBF16, false).numbers);
  }
}

TEST(Projection, SavesALaunch) {
  const std::string text = block("short", "long", "dim: 8 dim: 4", norm("short", ""), kRelu);
  const Passes joined = run(text, DType::kF32, true), apart = run(text, DType::kF32, false);
  EXPECT_EQ(joined.kernels + 1, apart.kernels);
}

/// A blob that a program may look at is made, and so is one that a ReLU or a loss of its own reads.
TEST(Projection, IsMadeWhereSomebodySeesIt) {
  const std::string plain = block("short", "long", "dim: 8 dim: 4", norm("short", ""), kRelu);
  const Passes kept = run(plain, DType::kF32, true, true);
  EXPECT_FALSE(kept.left);
  EXPECT_EQ(kept.numbers, run(plain, DType::kF32, true).numbers);
  const std::string relu = "layer { name: 'own' type: 'ReLU' bottom: 'short' top: 'short' }\n";
  EXPECT_FALSE(run(block("short", "long", "dim: 8 dim: 4", norm("short", "") + relu, kRelu), DType::kF32, true).left);
  const std::string seen = "layer { name: 'seen' type: 'Reduction' bottom: 'short' top: 'seen' loss_weight: 0.1 }\n";
  const Passes read_twice =
      run(block("short", "long", "dim: 8 dim: 4", norm("short", "") + seen, kRelu), DType::kF32, true);
  EXPECT_FALSE(read_twice.left);
}

}  // namespace
}  // namespace robusta::test::projection_test
