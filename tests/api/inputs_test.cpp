// What a program writes into a net's blobs, by the public headers alone.

#include <gtest/gtest.h>

#include "robusta/net.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

/// y = 2 data + 1, the product in place on the input.
const std::string kInPlace = R"(layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 3 } } }
layer { name: "twice" type: "Power" bottom: "data" top: "data" power_param { scale: 2 } }
layer { name: "next" type: "Power" bottom: "data" top: "y" power_param { shift: 1 } }
)";

const std::string kLine =
    R"(layer { name: "in" type: "Input" top: "x" top: "target" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 2 weight_filler { type: "gaussian" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "target" top: "loss" }
)";

using Numbers = std::vector<float>;

TEST(ApiInputsTest, ALayerInPlaceReadsWhatWasWritten) {
  for (const bool keep : {false, true}) {
    NetOptions options;
    options.keep_blobs = keep;
    Net net = Net::from_text(kInPlace, options);
    for (const float first : {1.0f, 5.0f}) {
      net.write("data", Numbers{first, 2, 3});
      if (keep) {
        EXPECT_EQ(net.read("data"), (Numbers{first, 2, 3}));
      }
      for (int pass = 0; pass < 2; ++pass) {  // what was written stays
        net.forward();
        EXPECT_EQ(net.read("y"), (Numbers{2 * first + 1, 5, 7}));
        if (keep) {
          EXPECT_EQ(net.read("data"), (Numbers{2 * first, 4, 6}));
        }
      }
    }
  }
}

TEST(ApiInputsTest, AnInputThatALayerWorksOnInPlaceIsReshaped) {
  Net net = Net::from_text(kInPlace);
  net.reshape("data", {2});
  EXPECT_EQ(net.shape("y"), Shape{2});
  net.write("data", Numbers{1, 2});
  net.forward();
  EXPECT_EQ(net.read("y"), (Numbers{3, 5}));
}

/// There are two arrays of that name: one that is written, one that is read.
TEST(ApiInputsTest, AnInputThatALayerWorksOnInPlaceHasNoView) {
  NetOptions options;
  options.keep_blobs = true;
  Net net = Net::from_text(kInPlace, options);
  EXPECT_EQ(error_of([&] { net.view("data"); }).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(net.view("y").shape, Shape{3});
}

TEST(ApiInputsTest, WritingToABlobThatIsNoInputIsRefused) {
  Net net = Net::from_text(kLine);
  const Error error = error_of([&] { net.write("y", Numbers(4)); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "x, target"));
  EXPECT_EQ(error_of([&] { net.write("loss", Numbers(1)); }).kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error_of([&] { net.write("tarjet", Numbers(4)); }).what(), "did you mean \"target\""));
  Net filled = Net::from_text(
      "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 3 } } }"
      "layer { name: 'p' type: 'Power' bottom: 'x' top: 'y' }");
  EXPECT_EQ(error_of([&] { filled.write("x", Numbers(3)); }).kind(), ErrorKind::kUsage) << "the layer's own";
}

TEST(ApiInputsTest, GivenGradientsAreBlobsOfTheNet) {
  NetOptions options;
  options.backward = true;
  options.given_gradients = {"lss"};
  const Error error = error_of([&] { Net::from_text(kLine, options); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "did you mean \"loss\""));
}

TEST(ApiInputsTest, OnlyGivenGradientsAreWritten) {
  const std::string text = R"(force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
layer { name: "a" type: "Power" bottom: "x" top: "y" power_param { scale: 3 } }
layer { name: "b" type: "Power" bottom: "y" top: "z" power_param { scale: 5 } })";
  NetOptions options;
  options.backward = true;
  options.given_gradients = {"z"};
  Net net = Net::from_text(text, options);
  net.write("x", Numbers{1, 1});
  net.forward();
  net.write_gradient("z", Numbers{1, 2});
  EXPECT_EQ(error_of([&] { net.write_gradient("y", Numbers{7, 7}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.write_gradient("z", Numbers{7}); }).kind(), ErrorKind::kUsage);
  net.backward();
  EXPECT_EQ(net.read_gradient("z"), (Numbers{1, 2}));
}

}  // namespace
}  // namespace robusta::test
