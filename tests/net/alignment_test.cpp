// Where blobs lie relative to each other, and AutoCrop, which asks for it.

#include "net/graph/alignment.h"

#include <gtest/gtest.h>

#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// `between` makes blob "b" from blob "a", whose size "in" has.
std::string aligned(const std::string& between, const std::string& type = "AutoCrop") {
  return R"(
    layer { name: "in" type: "Input" top: "in" input_param { shape { dim: 1 dim: 1 dim: 12 dim: 14 } } }
    layer { name: "pre" type: "Power" bottom: "in" top: "a" } )" +
         between + " layer { name: 'crop' type: '" + type + "' bottom: 'b' bottom: 'in' top: 'y' }";
}

std::vector<int64_t> offsets(const std::string& between) {
  const Net net(net_def(aligned(between)), {});
  const Graph& graph = net.graph();
  const Node& crop = graph.nodes[graph.versions[graph.find("y")].producer];
  return offsets_between(graph, crop.bottoms[0], crop.bottoms[1]);
}

std::string window(const std::string& type, const std::string& bottom, const std::string& top,
                   const std::string& fields) {
  const bool pools = type == "Pooling";
  return "layer { name: '" + top + "' type: '" + type + "' bottom: '" + bottom + "' top: '" + top + "' " +
         (pools ? "pooling_param { " : "convolution_param { num_output: 1 ") + fields + " } } ";
}

TEST(Alignment, FollowsTheWindows) {
  using Offsets = std::vector<int64_t>;
  EXPECT_EQ(offsets(window("Convolution", "a", "b", "kernel_size: 1 pad: 2")), (Offsets{2, 2}));
  EXPECT_EQ(offsets(window("Convolution", "a", "b", "kernel_size: 3 pad_h: 3 pad_w: 4")), (Offsets{2, 3}));
  EXPECT_EQ(offsets(window("Convolution", "a", "b", "kernel_size: 3 dilation: 2 pad: 2")), (Offsets{0, 0}));
  // An edge detector's: halved, and enlarged again.
  EXPECT_EQ(offsets(window("Pooling", "a", "p", "kernel_size: 2 stride: 2") +
                    window("Deconvolution", "p", "b", "kernel_size: 4 stride: 2")),
            (Offsets{1, 1}));
  EXPECT_EQ(offsets(window("Pooling", "a", "p", "kernel_size: 2 stride: 2") +
                    window("Pooling", "p", "q", "kernel_size: 2 stride: 2") +
                    window("Deconvolution", "q", "b", "kernel_size: 8 stride: 4")),
            (Offsets{2, 2}));
}

TEST(Alignment, AutoCropIsCropWithTheOffset) {
  const std::string between =
      window("Pooling", "a", "p", "kernel_size: 2 stride: 2") + window("Deconvolution", "p", "b",
                                                                       "kernel_size: 4 stride: 2 weight_filler "
                                                                       "{ type: 'bilinear' }");
  std::string crop = aligned(between, "Crop");
  crop.insert(crop.rfind('}'), "crop_param { offset: 1 } ");
  Net automatic(net_def(aligned(between)), {}), by_hand(net_def(crop), {});
  for (Net* net : {&automatic, &by_hand}) {
    fill_inputs(*net, 3);
    net->forward({.batch = 1});
  }
  EXPECT_EQ(automatic.blobs().shape("y"), (Shape{1, 1, 12, 14}));
  EXPECT_EQ(automatic.blobs().read("y"), by_hand.blobs().read("y"));
}

Error of_alignment(const std::string& between) {
  return error_of([&] { const Net net(net_def(aligned(between)), {}); });
}

TEST(Alignment, SaysWhereItEnds) {
  Error error = of_alignment(window("Pooling", "a", "b", "kernel_size: 2 stride: 2"));
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "layer \"crop\"")) << error.what();
  EXPECT_TRUE(contains(error.cause(), "pixel i of blob \"in\" lies at 0.5 i + -0.25 of blob \"b\"")) << error.what();
  error = of_alignment(window("Convolution", "a", "b", "kernel_size: 3"));
  EXPECT_TRUE(contains(error.cause(), "lies at 1 i + -1 of blob")) << error.what();
  error = of_alignment(
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'b' inner_product_param "
      "{ num_output: 3 } }");
  EXPECT_TRUE(contains(error.cause(), "no places in the bottom of layer \"ip\" (InnerProduct)")) << error.what();
  error = of_alignment(
      "layer { name: 'other' type: 'Input' top: 'b' input_param { shape { dim: 1 dim: 1 dim: 20 "
      "dim: 20 } } }");
  EXPECT_TRUE(contains(error.cause(), "\"b\" and \"in\" do not come from one blob")) << error.what();
  error = of_alignment(window("Convolution", "a", "c", "kernel_size: 1 pad: 2") +
                       window("Convolution", "c", "b", "kernel_size: 2 pad: 0 kernel_size: 4"));
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
}

}  // namespace
}  // namespace robusta::test
