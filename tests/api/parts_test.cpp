// Passes over a part of a public net, in C++ and in C.

#include <gtest/gtest.h>

#include "robusta.h"
#include "robusta/net.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

/// y = 2 x + 1, z = max(0, y), a sum of z, all of them written down by hand.
const std::string kSteps = R"(force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "twice" type: "Power" bottom: "x" top: "y" power_param { scale: 2 shift: 1 } }
layer { name: "relu" type: "ReLU" bottom: "y" top: "z" }
layer { name: "all" type: "InnerProduct" bottom: "z" top: "sum"
  inner_product_param { num_output: 1 bias_term: false weight_filler { type: "constant" value: 1 } } }
)";
/// The same with the second layer in place.
std::string in_place() {
  std::string text = kSteps;
  text.replace(text.find("top: \"z\""), 8, "top: \"y\"");
  text.replace(text.find("bottom: \"z\""), 11, "bottom: \"y\"");
  return text;
}

using Numbers = std::vector<float>;

Net kept_net(const std::string& text = kSteps, bool fuse = true) {
  NetOptions options;
  options.backward = options.keep_blobs = true;
  options.fuse = fuse;
  Net net = Net::from_text(text, options);
  net.write("x", Numbers{-1, 0, 2});
  return net;
}

TEST(ApiPartsTest, ForwardComputesTheBlobsOfItsLayersAlone) {
  Net net = kept_net();
  net.forward();
  EXPECT_EQ(net.read("z"), (Numbers{0, 1, 5}));
  net.write("x", Numbers{1, 1, 1});
  net.forward({.end = "twice"});
  EXPECT_EQ(net.read("y"), (Numbers{3, 3, 3}));
  EXPECT_EQ(net.read("z"), (Numbers{0, 1, 5})) << "as the pass before has left it";
  net.write("y", Numbers{-4, 4, 8});
  net.forward({.start = "relu", .end = "relu"});
  EXPECT_EQ(net.read("z"), (Numbers{0, 4, 8}));
  EXPECT_EQ(net.read("sum"), Numbers{6});
  net.forward({.start = "all"});
  EXPECT_EQ(net.read("sum"), Numbers{12});
}

TEST(ApiPartsTest, BackwardBeginsWithAGradientOfTheProgram) {
  Net net = kept_net();
  net.forward({.end = "relu"});
  net.write_gradient("z", Numbers{10, 20, 30});
  net.backward({.start = "relu"});
  EXPECT_EQ(net.read_gradient("y"), (Numbers{0, 20, 30}));
  EXPECT_EQ(net.read_gradient("x"), (Numbers{0, 40, 60}));
  net.write_gradient("y", Numbers{1, 2, 3});
  net.backward({.start = "twice", .end = "twice"});
  EXPECT_EQ(net.read_gradient("x"), (Numbers{2, 4, 6}));
  EXPECT_EQ(net.read_gradient("y"), (Numbers{1, 2, 3}));
}

TEST(ApiPartsTest, ALayerInPlaceLeavesTheBlobAsItsPartsLeaveIt) {
  Net net = kept_net(in_place(), false);
  net.forward({.end = "twice"});
  EXPECT_EQ(net.read("y"), (Numbers{-1, 1, 5}));
  net.forward({.start = "relu", .end = "relu"});
  EXPECT_EQ(net.read("y"), (Numbers{0, 1, 5}));
}

TEST(ApiPartsTest, TheLossIsThatOfTheLayers) {
  Net net = kept_net(kSteps +
                     "layer { name: 'a' type: 'EuclideanLoss' bottom: 'z' bottom: 'x' top: 'a' }\n"
                     "layer { name: 'b' type: 'EuclideanLoss' bottom: 'y' bottom: 'x' top: 'b' }\n");
  const double whole = net.forward(), a = net.read("a")[0], b = net.read("b")[0];
  EXPECT_DOUBLE_EQ(whole, a + b);
  EXPECT_EQ(net.forward({.start = "a", .end = "a"}), a);
  EXPECT_EQ(net.forward({.start = "b"}), b);
  EXPECT_EQ(net.forward({.end = "relu"}), 0);
}

/// Numbers and dropped elements are those of the position.
TEST(ApiPartsTest, ASourceInTheRangeGivesTheNextBatch) {
  NetOptions options;
  options.keep_blobs = true;
  options.phase = Phase::kTrain;
  const std::string text = R"(
    layer { name: "d" type: "DummyData" top: "x"
            dummy_data_param { shape { dim: 2 dim: 30 } data_filler { type: "gaussian" } } }
    layer { name: "drop" type: "Dropout" bottom: "x" top: "y" })";
  Net whole = Net::from_text(text, options), net = Net::from_text(text, options);
  for (int pass = 0; pass < 2; ++pass) {
    whole.forward();
    net.forward({.end = "d"});
    EXPECT_EQ(net.position(), whole.position());
    EXPECT_EQ(net.read("x"), whole.read("x"));
    for (int time = 0; time < 2; ++time) {
      net.forward({.start = "drop"});
      EXPECT_EQ(net.read("y"), whole.read("y"));
      EXPECT_EQ(net.position(), whole.position());
    }
  }
}

TEST(ApiPartsTest, RefusesWhatCannotBe) {
  Net net = kept_net();
  const Error misspelt = error_of([&] { net.forward({.start = "twise"}); });
  EXPECT_EQ(misspelt.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(misspelt.what(), "twice"));
  EXPECT_EQ(error_of([&] { net.forward({.start = "relu", .end = "twice"}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.backward({.start = "twice", .end = "relu"}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.write_gradient("x", Numbers{1}); }).kind(), ErrorKind::kUsage);
  NetOptions options;
  Net plain = Net::from_text(kSteps, options);
  EXPECT_TRUE(contains(error_of([&] { plain.forward({.end = "relu"}); }).what(), "NetOptions::keep_blobs"));
  options.keep_blobs = true;
  Net forward_only = Net::from_text(kSteps, options);
  EXPECT_TRUE(contains(error_of([&] { forward_only.backward({.start = "relu"}); }).what(), "NetOptions::backward"));
}

/// The blob has one gradient, as in Caffe: that which the program has written, whatever the layer in place made of it.
TEST(ApiPartsTest, BackwardBeginsBelowALayerInPlace) {
  Net net = kept_net(in_place(), false);
  net.forward();
  net.write_gradient("y", Numbers{1, 2, 3});
  net.backward({.start = "twice"});
  EXPECT_EQ(net.read_gradient("x"), (Numbers{2, 4, 6}));
  net.backward({.start = "relu"});
  EXPECT_EQ(net.read_gradient("x"), (Numbers{0, 4, 6}));
}

TEST(ApiPartsTest, InC) {
  robusta_net_options options;
  robusta_net_options_init(&options);
  options.backward = options.keep_blobs = true;
  options.fuse = false;
  robusta_net* net = nullptr;
  ASSERT_EQ(robusta_net_from_text(kSteps.c_str(), &options, &net), 0) << robusta_last_error();
  EXPECT_STREQ(robusta_net_layer(net, 2), "relu");
  EXPECT_EQ(robusta_net_layer(net, 4), nullptr);
  const float x[] = {-1, 0, 2}, gradient[] = {10, 20, 30};
  float y[3] = {}, back[3] = {};
  double loss = -1;
  EXPECT_EQ(robusta_net_write(net, "x", x, 3), 0);
  EXPECT_EQ(robusta_net_forward_part(net, nullptr, "twice", &loss), 0) << robusta_last_error();
  EXPECT_EQ(loss, 0);
  EXPECT_EQ(robusta_net_read(net, "y", y, 3), 0);
  EXPECT_EQ(Numbers(y, y + 3), (Numbers{-1, 1, 5}));
  EXPECT_EQ(robusta_net_forward_part(net, "relu", "relu", nullptr), 0);
  EXPECT_EQ(robusta_net_write_gradient(net, "z", gradient, 3), 0) << robusta_last_error();
  EXPECT_EQ(robusta_net_backward_part(net, "relu", nullptr), 0) << robusta_last_error();
  EXPECT_EQ(robusta_net_read_gradient(net, "x", back, 3), 0);
  EXPECT_EQ(Numbers(back, back + 3), (Numbers{0, 40, 60}));
  EXPECT_EQ(robusta_net_forward_part(net, "rlu", nullptr, nullptr), 1);
  EXPECT_NE(std::string(robusta_last_error()).find("relu"), std::string::npos);
  robusta_net_free(net);
}

}  // namespace
}  // namespace robusta::test
