// Strides that move up in nets that only run forward: what comes out stays the same, and convolutions compute less.

#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "layers/kit/convolution_base.h"
#include "net/net.h"
#include "solver/files/weights.h"
#include "support/close.h"
#include "support/nets.h"

namespace robusta::test::unread_pixels_test {
namespace {

std::string convolution(const std::string& name, const std::string& bottom, const std::string& fields) {
  return str("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '", name,
             "' convolution_param { num_output: 8 ", fields,
             " weight_filler { type: 'msra' } bias_filler { type: 'uniform' } } }\n");
}

std::string in_place(const std::string& type, const std::string& blob, const std::string& fields = "") {
  return str("layer { name: '", blob, "_", type, "' type: '", type, "' bottom: '", blob, "' top: '", blob, "' ", fields,
             " }\n");
}

std::string sum(const std::string& name, const std::string& a, const std::string& b) {
  return str("layer { name: '", name, "' type: 'Eltwise' bottom: '", a, "' bottom: '", b, "' top: '", name, "' }\n");
}

const std::string kInput =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 11 dim: 9 } } }\n";
const std::string kPool = "layer { name: 'a' type: 'Pooling' bottom: 'x' top: 'a' pooling_param { kernel_size: 2 } }\n";
const std::string kNorm = in_place("BatchNorm", "c") + in_place("Scale", "c", "scale_param { bias_term: true }");

/// The end of one stage of a ResNet and the beginning of the next, whose first layers have `stride`.
std::string stages(const std::string& stride, const std::string& middle = "kernel_size: 3 pad: 1") {
  return kInput + convolution("a", "x", "kernel_size: 1") + in_place("ReLU", "a") + convolution("b", "a", middle) +
         in_place("ReLU", "b") + convolution("c", "b", "kernel_size: 1") + kNorm + sum("s", "a", "c") +
         in_place("ReLU", "s") + convolution("left", "s", "kernel_size: 1 " + stride) +
         convolution("right", "s", "kernel_size: 1 " + stride) + sum("out", "left", "right");
}

Net make(const std::string& text, bool skip) {
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  options.skip_unread = skip;
  return Net(net_def(text, caffe::TEST), options);
}

std::vector<float> outputs(Net& net) {
  std::vector<float> x(static_cast<size_t>(net.blobs().shape("x").count()));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 23) / 7 - 1.5f;
  net.blobs().write("x", x);
  net.forward({.batch = net.batch()});
  return net.blobs().read("out");
}

/// Of a convolution along its axes; of any other layer, and where there is none: nothing.
std::vector<int64_t> strides(const Net& net, const std::string& layer) {
  std::vector<int64_t> found;
  for (const Node& node : net.graph().nodes) {
    const auto* conv = dynamic_cast<const ConvolutionBase*>(node.layer.get());
    if (!conv || conv->name() != layer) continue;
    for (const WindowAxis& axis : conv->geometry().axes) found.push_back(axis.stride);
  }
  return found;
}

using Strides = std::vector<int64_t>;

void expect_same_results(const std::string& text) {
  Net whole = make(text, false), fewer = make(text, true);
  EXPECT_EQ(whole.blobs().shape("out"), fewer.blobs().shape("out"));
  expect_close(outputs(fewer), outputs(whole), 1e-5);
}

TEST(UnreadPixels, AreNotComputedAtTheEndOfAStage) {
  const std::string text = stages("stride: 2");
  expect_same_results(text);
  Net net = make(text, true);
  EXPECT_EQ(strides(net, "left"), (Strides{1, 1}));
  EXPECT_EQ(strides(net, "right"), (Strides{1, 1}));
  EXPECT_EQ(strides(net, "c"), (Strides{1, 1}));
  EXPECT_EQ(strides(net, "b"), (Strides{2, 2}));
  EXPECT_EQ(strides(net, "a"), (Strides{1, 1}));
  EXPECT_EQ(net.blobs().shape("s"), Shape({2, 8, 6, 5}));
}

TEST(UnreadPixels, AreLeftOutWhateverExtentAndStride) {
  for (const char* stride : {"stride: 3", "stride_h: 4 stride_w: 4", "stride: 2 stride: 2", "stride: 20"}) {
    expect_same_results(stages(stride));
  }
  for (const char* middle : {"kernel_size: 3 pad: 1 dilation: 1", "kernel_h: 5 kernel_w: 1 pad_h: 2 pad_w: 0",
                             "kernel_size: 3 pad: 2 dilation: 2", "kernel_size: 3 pad: 1 group: 4"}) {
    expect_same_results(stages("stride: 2", middle));
  }
}

TEST(UnreadPixels, AreOtherOnesForAnotherInput) {
  Net whole = make(stages("stride: 2"), false), fewer = make(stages("stride: 2"), true);
  for (Net* net : {&whole, &fewer}) net->reshape_inputs({{"x", {3, 3, 8, 14}}});
  EXPECT_EQ(fewer.blobs().shape("s"), Shape({3, 8, 4, 7}));
  expect_close(outputs(fewer), outputs(whole), 1e-5);
}

/// A stride that a convolution has already is multiplied.
TEST(UnreadPixels, AddUpToALongerStride) {
  const std::string text = kInput + convolution("a", "x", "kernel_size: 3 stride: 2") + in_place("ReLU", "a") +
                           convolution("out", "a", "kernel_size: 1 stride: 2");
  expect_same_results(text);
  EXPECT_EQ(strides(make(text, true), "a"), (Strides{4, 4}));
}

/// Both terms of a sum are convolutions of their own: no layer has to pick pixels.
TEST(UnreadPixels, OfAProjectionAreNotComputedEither) {
  const std::string text = kInput + convolution("a", "x", "kernel_size: 3 pad: 1") +
                           convolution("c", "x", "kernel_size: 3 pad: 1") + sum("s", "a", "c") +
                           convolution("out", "s", "kernel_size: 1 stride: 2");
  expect_same_results(text);
  Net net = make(text, true);
  EXPECT_EQ(strides(net, "a"), (Strides{2, 2}));
  EXPECT_EQ(strides(net, "c"), (Strides{2, 2}));
  EXPECT_EQ(net.graph().nodes.size(), make(text, false).graph().nodes.size());
}

/// Cases in which each pixel counts, or may.
TEST(UnreadPixels, AreComputedWhereSomebodyReadsThem) {
  const std::string one = kInput + convolution("a", "x", "kernel_size: 3 pad: 1"), read = " stride: 2";
  const std::string cases[] = {
      one + convolution("out", "a", "kernel_size: 2" + read),                                            // more taps
      one + convolution("out", "a", "kernel_size: 1 pad: 1" + read),                                     // padding
      one + convolution("out", "a", "kernel_size: 1 stride_h: 2 stride_w: 1"),                           // one axis
      one + convolution("b", "a", "kernel_size: 1" + read) + convolution("out", "a", "kernel_size: 1"),  // others
      one + convolution("b", "a", "kernel_size: 1 stride: 3") + convolution("out", "a", "kernel_size: 1" + read),
      one + in_place("Softmax", "a") + convolution("out", "a", "kernel_size: 1" + read),
      one + in_place("LRN", "a") + convolution("out", "a", "kernel_size: 1" + read),
      one + in_place("Scale", "a", "scale_param { axis: 2 num_axes: 1 filler { type: 'uniform' } }") +
          convolution("out", "a", "kernel_size: 1" + read),
      one + in_place("BatchNorm", "a", "batch_norm_param { use_global_stats: false }") +
          convolution("out", "a", "kernel_size: 1" + read),
      kInput + convolution("a", "x", "kernel_size: 3 pad_type: 1") + convolution("out", "a", "kernel_size: 1" + read),
  };
  for (const std::string& text : cases) {
    SCOPED_TRACE(text);
    expect_same_results(text);
    EXPECT_EQ(strides(make(text, true), "a"), (Strides{1, 1}));
  }
  expect_same_results(kInput + kPool + convolution("out", "a", "kernel_size: 1 stride: 2"));
}

TEST(UnreadPixels, AreThereWhereBlobsAreKeptOrGradientsWanted) {
  for (const bool backward : {false, true}) {
    NetOptions options;
    options.backward = backward;
    options.keep_blobs = !backward;
    options.skip_unread = true;
    EXPECT_EQ(strides(Net(net_def(stages("stride: 2")), options), "b"), (Strides{1, 1}));
  }
}

/// Layers behind one that was put in have other numbers.
TEST(UnreadPixels, LeaveAGraphWhoseEndsMeet) {
  const std::string selected = "layer { name: 'filter' type: 'Filter' bottom: 'out' bottom: 'chosen' top: 'some' }";
  Net net = make("layer { name: 'chosen' type: 'Input' top: 'chosen' input_param { shape { dim: 2 dim: 1 } } }" +
                     stages("stride: 2") + selected,
                 true);
  const Graph& graph = net.graph();
  for (const NodeId n : graph.nodes.ids()) {
    for (const VersionId top : graph.nodes[n].tops) EXPECT_EQ(graph.versions[top].producer, n);
    for (const VersionId bottom : graph.nodes[n].bottoms) EXPECT_EQ(graph.versions[bottom].consumer, n);
  }
  ASSERT_EQ(graph.sizers.size(), 1u);
  EXPECT_EQ(graph.nodes[graph.sizers[0]].layer->name(), "filter");
  EXPECT_EQ(strides(net, "b"), (Strides{2, 2}));
}

/// Its layers do not become more where it has few images.
TEST(UnreadPixels, OfFewImagesAreComputedOnAGpu) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  for (const int64_t batch : {2, 4}) {
    NetOptions options;
    options.phase = caffe::TEST;
    options.backward = false;
    options.skip_unread = true;
    options.device = &gpu;
    std::string text = stages("stride: 2");
    text.replace(text.find("dim: 2"), 6, str("dim: ", batch));
    Net net(net_def(text, caffe::TEST), options);
    EXPECT_EQ(strides(net, "b"), batch == 2 ? (Strides{1, 1}) : (Strides{2, 2}));
    outputs(net);
  }
}

/// Channels at axis 0: what is normalised is a row of pixels, and all of them are.
TEST(UnreadPixels, AreComputedWhereAxisOneHasPixels) {
  const std::string x = "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 3 dim: 9 dim: 9 } } }\n";
  for (const std::string& between : {in_place("BatchNorm", "c"), in_place("Scale", "c", "scale_param { axis: 1 }")}) {
    const std::string text = x + convolution("c", "x", "axis: 0 kernel_size: 3 pad: 1") + between +
                             convolution("out", "c", "axis: 0 kernel_size: 1 stride: 2");
    expect_same_results(text);
    EXPECT_EQ(strides(make(text, true), "c"), (Strides{1, 1}));
  }
}

/// A sum in place of an input: who asks for the input's shape wants that of what is to be written.
TEST(UnreadPixels, OfWhatIsCalledAsAnInputAreComputed) {
  const std::string text =
      kInput + convolution("c", "x", "kernel_size: 1") +
      "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 2 dim: 8 dim: 11 dim: 9 } } }\n"
      "layer { name: 's' type: 'Eltwise' bottom: 'y' bottom: 'c' top: 'y' }\n" +
      convolution("out", "y", "kernel_size: 1 stride: 2");
  EXPECT_EQ(make(text, true).blobs().shape("y"), (Shape{2, 8, 11, 9}));
}

/// Layer and blob of a net may be called as what is put in.
TEST(UnreadPixels, TakeNoNameOfOthers) {
  const std::string named =
      kInput + "layer { name: 'a' type: 'Pooling' bottom: 'x' top: 'a' pooling_param { kernel_size: 1 } }\n" +
      "layer { name: 'b' type: 'Convolution' bottom: 'x' top: 'b' convolution_param { num_output: 3 kernel_size: 1 "
      "weight_filler { type: 'msra' } } }\n" +
      sum("s", "a", "b") + convolution("out", "s", "kernel_size: 1 stride: 2") +
      convolution("a_strided", "x", "kernel_size: 3");
  Net whole = make(named, false), fewer = make(named, true);
  EXPECT_EQ(strides(fewer, "b"), (Strides{2, 2}));
  expect_close(outputs(fewer), outputs(whole), 1e-5);
  EXPECT_EQ(fewer.blobs().read("a_strided"), whole.blobs().read("a_strided"));
  EXPECT_EQ(fewer.graph().layer_params("a_strided").size(), 2u);
}

/// The shortcut is a copy, of what is no number, too.
TEST(UnreadPixels, OfNoNumberStayNone) {
  Net net = make("layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 2 dim: 8 dim: 11 dim: 9 } } }\n" +
                     kInput + convolution("c", "x", "kernel_size: 3 pad: 1") + sum("s", "y", "c") +
                     convolution("out", "s", "kernel_size: 1 stride: 2"),
                 true);
  std::vector<float> y(static_cast<size_t>(net.blobs().shape("y").count()), 1.0f);
  y[0] = std::nanf("");
  net.blobs().write("y", y);
  EXPECT_TRUE(std::isnan(outputs(net)[0]));
  EXPECT_EQ(strides(net, "c"), (Strides{2, 2}));
}

/// What is stored speaks of the net that was given.
TEST(UnreadPixels, AreNoBusinessOfFiles) {
  Net whole = make(stages("stride: 2"), false), fewer = make(stages("stride: 2"), true);
  EXPECT_NE(whole.graph().nodes.size(), fewer.graph().nodes.size());
  EXPECT_EQ(net_to_proto(fewer, false).SerializeAsString(), net_to_proto(whole, false).SerializeAsString());
}

}  // namespace
}  // namespace robusta::test::unread_pixels_test
