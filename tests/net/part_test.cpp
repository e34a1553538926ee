// Parts of passes: cut between any two layers, a pass leaves what a whole one leaves, or says why it cannot be cut
// there. Memory that nobody is said to need is overwritten all the while.

#include <gtest/gtest.h>

#include <set>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr Pass kPass{.seed = 3, .first_sample = 40, .next_sample = 44, .batch = 4};

NetOptions options_with(const std::string& kernels, bool fuse, Device& device = cpu_device()) {
  NetOptions options;
  options.kernels = kernels;
  options.fuse = fuse;
  options.device = &device;
  options.keep_blobs = options.poison = true;
  return options;
}

std::unique_ptr<Net> branching_net(const NetOptions& options) {
  auto net = std::make_unique<Net>(net_def(kBranchyNet), options);
  fill_inputs(*net, 1);
  return net;
}

NodeRange all_of(const Net& net) { return {NodeId(0), net.graph().nodes.end_id() - 1}; }
const std::string& name_of(const Net& net, NodeId node) { return net.graph().nodes[node].layer->name(); }

NodeId node_named(const Net& net, const std::string& name) {
  for (const NodeId n : net.graph().nodes.ids()) {
    if (name_of(net, n) == name) return n;
  }
  return {};
}

/// Every blob, every gradient of one, and those of the parameters.
std::vector<float> values_and_gradients(const Net& net) {
  std::vector<float> all;
  const auto append = [&](const std::vector<float>& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const BlobVersion& version : net.graph().versions) {
    if (version.hidden_by_later) continue;
    append(net.blobs().read(version.name));
    append(net.blobs().read_diff(version.name));
  }
  for (const ParamPtr& param : net.params()) append(net.blobs().read_param_diff(*param));
  return all;
}

/// Layers behind which forward or backward cannot be cut.
struct Refused {
  std::set<std::string> forward, backward;
};

/// A part and what is left; false where one of them is refused.
template <typename Run>
bool in_two(const Run& run, const NodeRange& one, const NodeRange& other) {
  try {
    run(one);
    run(other);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
    return false;
  }
}

/// Cuts forward and backward behind each layer in turn, and expects what the whole pass gives.
Refused cut_everywhere(const NetOptions& options) {
  Refused refused;
  const std::unique_ptr<Net> whole = branching_net(options);
  const double loss = whole->forward(kPass);
  whole->backward(kPass, false);
  const std::vector<float> expected = values_and_gradients(*whole);
  const NodeRange all = all_of(*whole);
  for (NodeId cut = all.first; cut < all.last; ++cut) {
    const std::string& name = name_of(*whole, cut);
    const NodeRange below{all.first, cut}, above{cut + 1, all.last};
    const std::unique_ptr<Net> net = branching_net(options);
    double sum = 0;
    const auto forward = [&](const NodeRange& part) { sum += net->forward(kPass, part); };
    const auto backward = [&](const NodeRange& part) { net->backward(kPass, part, false); };
    if (in_two(forward, below, above)) {
      EXPECT_DOUBLE_EQ(sum, loss) << name;
    } else {
      refused.forward.insert(name);
      net->forward(kPass);
    }
    if (!in_two(backward, above, below)) {
      refused.backward.insert(name);
      net->backward(kPass, false);
    }
    EXPECT_EQ(values_and_gradients(*net), expected) << "cut behind " << name;
  }
  return refused;
}

/// Only what lies between a layer and one that works in place on its top need not be kept.
const std::set<std::string> kBeforeInPlace{"c0", "bn0", "sc0", "c1", "sum", "gap"};

TEST(Parts, OfSingleLayersOnTheReference) {
  const Refused refused = cut_everywhere(options_with("reference", false));
  // Backward of BatchNorm and Scale reads what they read.
  EXPECT_EQ(refused.forward, (std::set<std::string>{"c0", "bn0"}));
  EXPECT_EQ(refused.backward, kBeforeInPlace);
}

TEST(Parts, OfFusedLayers) {
  for (const char* kernels : {"auto", "onednn", "native"}) {
    SCOPED_TRACE(kernels);
    const Refused refused = cut_everywhere(options_with(kernels, true));
    EXPECT_TRUE(std::ranges::includes(kBeforeInPlace, refused.forward));
    EXPECT_TRUE(std::ranges::includes(kBeforeInPlace, refused.backward));
  }
}

TEST(Parts, OnADevice) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  const Refused refused = cut_everywhere(options_with("auto", true, gpu));
  EXPECT_TRUE(std::ranges::includes(kBeforeInPlace, refused.forward));
  EXPECT_TRUE(std::ranges::includes(kBeforeInPlace, refused.backward));
}

TEST(Parts, LeaveWhatBackwardNeedsOfOtherLayers) {
  const NetOptions options = options_with("auto", true);
  const std::unique_ptr<Net> whole = branching_net(options), parts = branching_net(options);
  for (Net* net : {whole.get(), parts.get()}) net->forward(kPass);
  for (const char* last : {"a", "pool", "re0"}) parts->forward(kPass, {NodeId(0), node_named(*parts, last)});
  for (const char* first : {"c1", "gap"}) parts->forward(kPass, {node_named(*parts, first), all_of(*parts).last});
  for (Net* net : {whole.get(), parts.get()}) net->backward(kPass, false);
  EXPECT_EQ(values_and_gradients(*parts), values_and_gradients(*whole));
  parts->backward(kPass, {node_named(*parts, "a"), node_named(*parts, "norm")}, false);
  parts->backward(kPass, false);
  EXPECT_EQ(values_and_gradients(*parts), values_and_gradients(*whole)) << "again";
}

/// All that both convolutions do is linear, and twice a number is exact.
TEST(Parts, ReadWhatAProgramHasWritten) {
  for (const char* kernels : {"auto", "reference"}) {
    const std::unique_ptr<Net> net = branching_net(options_with(kernels, true));
    const auto doubled = [](std::vector<float> numbers) {
      for (float& number : numbers) number *= 2;
      return numbers;
    };
    Blobs& blobs = net->blobs();
    net->forward(kPass);
    net->backward(kPass, false);
    const std::vector<float> cat = blobs.read("cat"), gradient = blobs.read_diff("sum"), norm = blobs.read("norm");
    blobs.write("sum", doubled(blobs.read("sum")));
    net->forward(kPass, {node_named(*net, "a"), node_named(*net, "cat")});
    EXPECT_EQ(blobs.read("cat"), doubled(cat)) << kernels;
    EXPECT_EQ(blobs.read("norm"), norm) << "not in the part";
    blobs.write_diff("cat", doubled(blobs.read_diff("cat")));
    net->backward(kPass, {node_named(*net, "resum") + 1, node_named(*net, "cat")}, false);
    EXPECT_EQ(blobs.read_diff("sum"), doubled(gradient)) << kernels;
  }
}

TEST(Parts, GradientsThatAProgramWritesAreApart) {
  const std::unique_ptr<Net> net = branching_net(options_with("auto", true));
  net->forward(kPass);
  net->backward(kPass, false);
  const std::vector<float> other = net->blobs().read_diff("c2");
  net->blobs().write_diff("sum", std::vector<float>(other.size(), 7.0f));
  EXPECT_EQ(net->blobs().read_diff("c2"), other);
}

TEST(Parts, OfSharedParametersAddUp) {
  const char* const text = R"(
    layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 3 } } }
    layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' param { name: 'w' } param { name: 'b' }
            inner_product_param { num_output: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' param { name: 'w' } param { name: 'b' }
            inner_product_param { num_output: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'loss' type: 'EuclideanLoss' bottom: 'b' bottom: 'x' top: 'loss' })";
  Net whole(net_def(text), options_with("auto", true)), parts(net_def(text), options_with("auto", true));
  for (Net* net : {&whole, &parts}) {
    fill_inputs(*net, 1);
    net->forward(kPass);
  }
  whole.backward(kPass, false);
  for (int time = 0; time < 2; ++time) {
    parts.backward(kPass, {node_named(parts, "b"), node_named(parts, "loss")}, false);
    parts.backward(kPass, {NodeId(0), node_named(parts, "a")}, false);
    EXPECT_EQ(values_and_gradients(parts), values_and_gradients(whole));
  }
}

/// Both layers want plain numbers of a blob that the convolution leaves in blocks. They share the copy, and the last
/// one writes its top over it.
TEST(Parts, DoNotWriteOverABlobOfAnotherLayer) {
  NetOptions options = options_with("auto", true);
  options.backward = false;
  Net net(net_def(R"(
    layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 16 dim: 6 dim: 6 } } }
    layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv'
            convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'one' type: 'Softmax' bottom: 'conv' top: 'one' }
    layer { name: 'two' type: 'Softmax' bottom: 'conv' top: 'two' })"),
          options);
  fill_inputs(net, 1);
  net.forward(kPass);
  const NodeId first = node_named(net, "one"), second = node_named(net, "two");
  const auto copied = [&](const Step& step) { return step.reorder && net.plan().units[step.unit].nodes[0] == first; };
  if (std::ranges::none_of(net.plan().steps, copied)) GTEST_SKIP() << "convolutions leave plain numbers here";
  const std::vector<float> one = net.blobs().read("one"), two = net.blobs().read("two");
  const Error error = error_of([&] { net.forward(kPass, {first, first}); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(error.what(), "take layer \"two\" into the part"));
  net.forward(kPass, {first, second});
  EXPECT_EQ(net.blobs().read("one"), one);
  EXPECT_EQ(net.blobs().read("two"), two);
}

}  // namespace
}  // namespace robusta::test
