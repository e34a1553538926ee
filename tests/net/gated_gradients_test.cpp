// A ReLU's mask that is left to the convolution which reads its result (kit/gates_gradients.h), emulated, with a
// library of convolutions.

#include <gtest/gtest.h>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"
#include "support/plain_library.h"

namespace robusta::test::gated_gradients_test {
namespace {

std::string convolution(const std::string& name, const std::string& bottom, const std::string& fields = "") {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: 'msra' } "
         "bias_filler { type: 'uniform' } } " +
         fields + " }\n";
}

std::string relu(const std::string& blob, const std::string& fields = "") {
  return "layer { name: 'relu_" + blob + "' type: 'ReLU' bottom: '" + blob + "' top: '" + blob + "' relu_param { " +
         fields + " } }\n";
}

const char* const kInput =
    "layer { name: 'in' type: 'Input' top: 'x' top: 'label' "
    "input_param { shape { dim: 3 dim: 5 dim: 6 dim: 7 } shape { dim: 3 } } }\n";

/// `last`: the blob that is classified.
std::string loss_of(const std::string& last) {
  return "layer { name: 'fc' type: 'InnerProduct' bottom: '" + last +
         "' top: 'fc' inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
}

struct Trained {
  std::vector<float> numbers;
  int gated;
};

Trained train(const std::string& text, bool gates, DType precision = DType::kF32, bool keep_blobs = false) {
  const WithPlainLibrary library(true);
  plain_library.gates = gates;
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions options;
  options.device = &gpu;
  options.precision = precision;
  options.keep_blobs = keep_blobs;
  options.poison = true;
  Net net(net_def(text), options);
  fill_inputs(net, 1);
  Trained trained;
  for (int pass = 0; pass < 3; ++pass) {
    const std::vector<float> numbers = run_once(net);
    trained.numbers.insert(trained.numbers.end(), numbers.begin(), numbers.end());
  }
  trained.gated = plain_library.gated;
  return trained;
}

/// The same bits, whoever applies the mask; `gated`: how many convolutions are to do so for the one before.
void compare(const std::string& text, int gated) {
  for (const DType precision : {DType::kF32, DType::kBF16}) {
    SCOPED_TRACE(name_of(precision) + text);
    const Trained theirs = train(text, true, precision), ours = train(text, false, precision);
    EXPECT_EQ(theirs.gated, gated);
    EXPECT_EQ(ours.gated, 0);
    EXPECT_EQ(theirs.numbers, ours.numbers);
  }
}

TEST(GatedGradients, HaveTheBitsOfOthers) {
  const std::string rows = kInput + convolution("a", "x") + relu("a") + convolution("b", "a") + relu("b") +
                           convolution("c", "b") + relu("c") + loss_of("c");
  compare(rows, 2);
}

/// Where the mask is not only 0 and 1, where somebody else reads the result or changes it, where nothing learns.
TEST(GatedGradients, NotWhereOthersLieBetween) {
  const std::string first = kInput + convolution("a", "x");
  compare(first + relu("a", "negative_slope: 0.25") + convolution("b", "a") + loss_of("b"), 0);
  compare(first + convolution("b", "a") + loss_of("b"), 0);
  compare(first + relu("a") + convolution("b", "a") +
              "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' "
              "top: 'sum' }\n" +
              loss_of("sum"),
          0);
  compare(first + relu("a") +
              "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 2 "
              "stride: 2 } }\n" +
              convolution("b", "p") + loss_of("b"),
          0);
  compare(first + relu("a") + convolution("b", "a", "param { lr_mult: 0 } param { lr_mult: 0 }") + loss_of("b"), 0);
}

/// Every gradient is to be seen as it is then.
TEST(GatedGradients, NotWhereBlobsAreKept) {
  const std::string text = kInput + convolution("a", "x") + relu("a") + convolution("b", "a") + loss_of("b");
  EXPECT_EQ(train(text, true, DType::kF32, true).gated, 0);
  EXPECT_EQ(train(text, true).gated, 1);
}

}  // namespace
}  // namespace robusta::test::gated_gradients_test
