// Bottoms of a sum with one gradient between them.

#include <gtest/gtest.h>

#include "net/net.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr const char* kResidual = R"(
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 8 } } }
layer { name: "a" type: "InnerProduct" bottom: "data" top: "a"
        inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
layer { name: "b" type: "InnerProduct" bottom: "a" top: "b"
        inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
layer { name: "sum" type: "Eltwise" bottom: "b" bottom: "a" top: "sum" }
layer { name: "relu" type: "ReLU" bottom: "sum" top: "sum" }
layer { name: "c" type: "InnerProduct" bottom: "sum" top: "c"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "c" bottom: "target" top: "loss" }
)";

std::string with_target() {
  return R"(layer { name: "target" type: "Input" top: "target" input_param { shape { dim: 2 dim: 3 } } })" +
         std::string(kResidual);
}

/// The backward step of the sum, fused with the ReLU after it.
const Step& sum_step(const Net& net) {
  for (const Step& step : net.plan().steps) {
    if (step.kind == StepKind::kBackward && step.bottom_diffs.size() == 2 && step.top_diffs.size() == 1 &&
        step.bottom_diffs[0] && step.bottom_diffs[1]) {
      return step;
    }
  }
  throw std::logic_error("no sum");
}

TEST(EqualGradients, LieInOneMemory) {
  Net net(net_def(with_target()), {});
  const Step& step = sum_step(net);
  EXPECT_EQ(net.plan().units[step.unit].nodes.size(), 2u);
  const auto storage = [&](ValueId v) { return net.plan().values[v].storage; };
  EXPECT_EQ(storage(step.bottom_diffs[0]), storage(step.bottom_diffs[1]));
  EXPECT_EQ(storage(step.bottom_diffs[0]), storage(step.top_diffs[0]));
}

TEST(EqualGradients, ChangeNoBit) {
  NetOptions shared, apart;
  apart.share_memory = false;
  Net a(net_def(with_target()), shared), b(net_def(with_target()), apart);
  fill_inputs(a, 1);
  fill_inputs(b, 1);
  EXPECT_EQ(run_once(a), run_once(b));
}

}  // namespace
}  // namespace robusta::test
