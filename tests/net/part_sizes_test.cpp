// Parts of passes where shapes follow from values, where layers carry values from pass to pass, and where a
// program writes to an input between the parts.

#include <gtest/gtest.h>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

NetOptions options_on(Device& device) {
  NetOptions options;
  options.device = &device;
  options.fuse = false;
  options.keep_blobs = options.poison = true;
  return options;
}

NodeId node_of(const Net& net, const std::string& name) {
  for (const NodeId n : net.graph().nodes.ids()) {
    if (net.graph().nodes[n].layer->name() == name) return n;
  }
  return {};
}

NodeRange range_of(const Net& net, const std::string& first, const std::string& last) {
  return {node_of(net, first), node_of(net, last)};
}

Pass one_batch(const Net& net) { return {.batch = net.batch()}; }

double forward(Net& net, const std::string& first, const std::string& last) {
  return net.forward(one_batch(net), range_of(net, first, last));
}

void backward(Net& net, const std::string& first, const std::string& last) {
  net.backward(one_batch(net), range_of(net, first, last), false);
}

/// Every blob, every gradient of one, and those of the parameters.
std::vector<float> everything(const Net& net) {
  std::vector<float> all;
  const auto append = [&](const std::vector<float>& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const BlobVersion& version : net.graph().versions) {
    append(net.blobs().read(version.name));
    append(net.blobs().read_diff(version.name));
  }
  for (const ParamPtr& param : net.params()) append(net.blobs().read_param_diff(*param));
  return all;
}

constexpr char kWithFilter[] = R"(force_backward: true
  layer { name: "in" type: "Input" top: "x" top: "s" input_param { shape { dim: 4 dim: 2 } shape { dim: 4 } } }
  layer { name: "pre" type: "Power" bottom: "x" top: "p" power_param { scale: 2 } }
  layer { name: "f" type: "Filter" bottom: "p" bottom: "s" top: "y" }
  layer { name: "ip" type: "InnerProduct" bottom: "y" top: "w"
          inner_product_param { num_output: 3 weight_filler { type: "gaussian" } } }
  layer { name: "sum" type: "Reduction" bottom: "w" top: "loss" loss_weight: 1
          reduction_param { operation: SUMSQ } })";

void write_inputs(Net& net, const std::vector<float>& selectors) {
  net.blobs().write("x", {1, 2, 3, 4, 5, 6, 7, 8});
  net.blobs().write("s", selectors);
}

TEST(PartSizes, FollowFromTheValuesOfThePart) {
  SimDevice gpu(size_t{1} << 22, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    SCOPED_TRACE(device->name());
    Net net(net_def(kWithFilter), options_on(*device));
    write_inputs(net, {0, 1, 0, 1});
    forward(net, "in", "pre");
    EXPECT_EQ(net.blobs().shape("y"), (Shape{4, 2})) << "nobody has asked the selectors";
    EXPECT_EQ(forward(net, "f", "f"), 0);
    EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{6, 8, 14, 16}));
    EXPECT_EQ(net.blobs().read("p"), (std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16})) << "stays";
    EXPECT_EQ(net.blobs().read("w"), std::vector<float>(6)) << "of another size, and not computed yet";
    net.blobs().write("s", {1, 1, 0, 1});
    forward(net, "f", "ip");
    EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{2, 4, 6, 8, 14, 16}));
    EXPECT_EQ(net.blobs().shape("w"), (Shape{3, 3}));
  }
}

TEST(PartSizes, CutAnywhereAPassIsTheSame) {
  SimDevice gpu(size_t{1} << 22, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    Net whole(net_def(kWithFilter), options_on(*device)), parts(net_def(kWithFilter), options_on(*device));
    const IdVector<NodeId, Node>& nodes = parts.graph().nodes;
    const NodeId last = nodes.end_id() - 1;
    for (NodeId cut(0); cut < last; ++cut) {
      for (const std::vector<float>& selectors : {std::vector<float>{0, 1, 0, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}}) {
        SCOPED_TRACE(str(device->name(), ": cut behind ", nodes[cut].layer->name()));
        for (Net* net : {&whole, &parts}) write_inputs(*net, selectors);
        const double loss = whole.forward(one_batch(whole));
        const double below = parts.forward(one_batch(parts), {NodeId(0), cut});
        EXPECT_EQ(below + parts.forward(one_batch(parts), {cut + 1, last}), loss);
        EXPECT_TRUE(parts.has_run_forward());
        whole.backward(one_batch(whole), false);
        parts.backward(one_batch(parts), {cut + 1, last}, false);
        parts.backward(one_batch(parts), {NodeId(0), cut}, false);
        EXPECT_EQ(everything(parts), everything(whole));
      }
    }
  }
}

TEST(PartSizes, LayersBehindLoseWhatTheyHave) {
  Net net(net_def(kWithFilter), options_on(cpu_device()));
  EXPECT_FALSE(net.has_run_forward());
  write_inputs(net, {0, 1, 0, 1});
  net.forward(one_batch(net));
  backward(net, "ip", "sum");
  net.blobs().write("s", {1, 1, 1, 0});
  forward(net, "f", "f");
  EXPECT_FALSE(net.has_run_forward());
  const Error error = error_of([&] { backward(net, "ip", "ip"); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "\"ip\""));
  backward(net, "pre", "f");
  forward(net, "ip", "sum");
  EXPECT_TRUE(net.has_run_forward());
  backward(net, "ip", "ip");
}

/// Both softmaxes want plain numbers of a blob that the convolution leaves in blocks, and share the copy.
TEST(PartSizes, ACopyFromBeforeThePartDoesNotCrossAFilter) {
  NetOptions options = options_on(cpu_device());
  options.backward = false;
  Net net(net_def(R"(
    layer { name: 'in' type: 'Input' top: 'x' top: 's' input_param {
              shape { dim: 2 dim: 16 dim: 6 dim: 6 } shape { dim: 2 } } }
    layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv'
            convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'one' type: 'Softmax' bottom: 'conv' top: 'one' }
    layer { name: 'f' type: 'Filter' bottom: 'one' bottom: 's' top: 'f' }
    layer { name: 'two' type: 'Softmax' bottom: 'conv' top: 'two' })"),
          options);
  fill_inputs(net, 1);
  net.blobs().write("s", {0, 1});
  net.forward(one_batch(net));
  const auto copied = [&](const Step& step) {
    return step.reorder && net.plan().units[step.unit].nodes[0] == node_of(net, "one");
  };
  if (std::ranges::none_of(net.plan().steps, copied)) GTEST_SKIP() << "convolutions leave plain numbers here";
  const std::vector<float> f = net.blobs().read("f"), two = net.blobs().read("two");
  EXPECT_EQ(error_of([&] { forward(net, "f", "two"); }).kind(), ErrorKind::kUnsupported);
  forward(net, "one", "two");
  EXPECT_EQ(net.blobs().read("f"), f);
  EXPECT_EQ(net.blobs().read("two"), two);
}

constexpr char kRecurrent[] = R"(
  layer { name: 'in' type: 'Input' top: 'x' top: 'cont' input_param {
            shape { dim: 2 dim: 1 dim: 2 } shape { dim: 2 dim: 1 } } }
  layer { name: 'lstm' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'h'
          recurrent_param { num_output: 3 weight_filler { type: 'uniform' min: -1 max: 1 } } }
  layer { name: 'rnn' type: 'RNN' bottom: 'h' bottom: 'cont' top: 'o' loss_weight: 1
          recurrent_param { num_output: 4 weight_filler { type: 'uniform' min: -1 max: 1 } } })";

/// What a layer carries goes on whenever it runs, in a whole pass or in a part of one.
TEST(PartStates, GoOnFromPartToPart) {
  SimDevice gpu(size_t{1} << 22, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    Net whole(net_def(kRecurrent), options_on(*device)), parts(net_def(kRecurrent), options_on(*device));
    for (int pass = 0; pass < 4; ++pass) {
      SCOPED_TRACE(str(device->name(), " pass ", pass));
      const float x = 0.2f * static_cast<float>(pass);
      for (Net* net : {&whole, &parts}) {
        net->blobs().write("x", {x, -x, 1 - x, 0.5f});
        net->blobs().write("cont", {1, 1});
      }
      const double loss = whole.forward(one_batch(whole));
      if (pass % 2 == 0) {
        EXPECT_EQ(forward(parts, "in", "lstm"), 0);
        EXPECT_EQ(forward(parts, "rnn", "rnn"), loss);
      } else {
        EXPECT_EQ(parts.forward(one_batch(parts)), loss);
      }
      whole.backward(one_batch(whole), false);
      backward(parts, "rnn", "rnn");
      backward(parts, "in", "lstm");
      EXPECT_EQ(everything(parts), everything(whole));
    }
    const std::vector<float> h = whole.blobs().read("h");
    forward(parts, "rnn", "rnn");
    EXPECT_EQ(parts.blobs().read("h"), h) << "in the part there is the other layer alone";
    whole.forward(one_batch(whole));
    forward(parts, "lstm", "lstm");
    EXPECT_NE(whole.blobs().read("h"), h);
    EXPECT_EQ(parts.blobs().read("h"), whole.blobs().read("h"));
  }
}

/// An input is what the program has written, whatever layers in place have made of it.
TEST(Parts, BeginBehindAnInputThatIsWorkedOnInPlace) {
  SimDevice gpu(size_t{1} << 22, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    Net net(net_def(R"(
      layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 3 } } }
      layer { name: 'relu' type: 'ReLU' bottom: 'x' top: 'x' }
      layer { name: 'more' type: 'Power' bottom: 'x' top: 'y' power_param { shift: 1 } })"),
            options_on(*device));
    net.blobs().write("x", {-1, 0, 2});
    for (int time = 0; time < 2; ++time) {
      forward(net, "relu", "more");
      EXPECT_EQ(net.blobs().read("x"), (std::vector<float>{0, 0, 2}));
      EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{1, 1, 3}));
    }
    net.blobs().write("x", {-4, 4, 8});
    forward(net, "more", "more");
    EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{-3, 5, 9})) << "the blob is what was written";
    forward(net, "in", "in");
    forward(net, "relu", "relu");
    EXPECT_EQ(net.blobs().read("x"), (std::vector<float>{0, 4, 8}));
  }
}

}  // namespace
}  // namespace robusta::test
