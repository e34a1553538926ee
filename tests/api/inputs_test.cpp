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

}  // namespace
}  // namespace robusta::test
