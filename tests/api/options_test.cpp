// What nets and solvers refuse of their options, and of the order of calls.

#include <gtest/gtest.h>

#include "robusta/net.h"
#include "robusta/solver.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

const std::string kNet = R"(
layer { name: "in" type: "Input" top: "x" top: "label" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 3 weight_filler { type: "gaussian" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" }
)";

const std::string kSolver = "base_lr: 0.1 lr_policy: 'fixed' max_iter: 1 net_param { " + kNet + "}";

TEST(ApiOptionsTest, ATypeOf16BitsIsNoTypeToComputeIn) {
  for (const DType type : {DType::kBF16, DType::kF16, static_cast<DType>(17)}) {
    NetOptions options;
    options.dtype = type;
    const Error error = error_of([&] { Net::from_text(kNet, options); });
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_TRUE(contains(error.fix(), "precision"));
    SolverOptions training;
    training.dtype = type;
    EXPECT_EQ(error_of([&] { Solver::from_text(kSolver, training); }).kind(), ErrorKind::kUsage);
  }
}

TEST(ApiOptionsTest, KernelsHaveAKnownName) {
  NetOptions options;
  options.kernels = "onednnn";
  const Error error = error_of([&] { Net::from_text(kNet, options); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "did you mean \"onednn\"?"));
  EXPECT_TRUE(contains(error.what(), "auto, "));
  SolverOptions training;
  training.kernels = "onednnn";
  EXPECT_EQ(error_of([&] { Solver::from_text(kSolver, training); }).kind(), ErrorKind::kUsage);
  options.kernels = "reference";
  EXPECT_NO_THROW(Net::from_text(kNet, options));
}

Net trained_net(bool keep_blobs) {
  NetOptions options;
  options.backward = true;
  options.keep_blobs = keep_blobs;
  Net net = Net::from_text(kNet, options);
  net.write("x", std::vector<float>{1, 2, 3, 4, 5, 6});
  net.write("label", std::vector<float>{0, 2});
  return net;
}

TEST(ApiOptionsTest, BackwardFollowsForward) {
  Net net = trained_net(false);
  EXPECT_EQ(error_of([&] { net.backward(); }).kind(), ErrorKind::kUsage);
  net.forward();
  net.backward();
  EXPECT_EQ(error_of([&] { net.backward(); }).kind(), ErrorKind::kUsage) << "once per forward";
  net.forward();
  net.reshape("x", {2, 3});
  EXPECT_EQ(error_of([&] { net.backward(); }).kind(), ErrorKind::kUsage) << "the values are lost";
  net.forward();
  net.write("label", std::vector<float>{0, 9});
  EXPECT_EQ(error_of([&] { net.forward(); }).kind(), ErrorKind::kData);
  EXPECT_EQ(error_of([&] { net.backward(); }).kind(), ErrorKind::kUsage) << "of a pass that failed";
}

TEST(ApiOptionsTest, BackwardMayRunAgainWhereBlobsAreKept) {
  Net net = trained_net(true);
  EXPECT_EQ(error_of([&] { net.backward(); }).kind(), ErrorKind::kUsage);
  net.forward();
  net.backward();
  const std::vector<float> once = net.read_parameter_gradient("ip", 0);
  net.backward();
  EXPECT_EQ(net.read_parameter_gradient("ip", 0), once);
}

}  // namespace
}  // namespace robusta::test
