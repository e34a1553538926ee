// Chains with bottoms from elsewhere: a kernel for "a layer, then a sum with something else, then perhaps a ReLU".

#include <gtest/gtest.h>

#include "layers/kit/chain.h"
#include "layers/kit/roles.h"
#include "net/net.h"
#include "support/close.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// y = 2 x.
class DoublingLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
};

template <typename T>
class DoublingReference : public Kernel {
 public:
  explicit DoublingReference(const KernelRequest&) { booking_.reads_bottoms = {false}; }
  std::string describe() const override { return "reference"; }
  void forward(const KernelRun& run) override { twice(run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) twice(run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  static void twice(const Tensor& from, const Tensor& to) {
    for (int64_t i = 0; i < to.count(); ++i) to.as<T>()[i] = 2 * from.as<T>()[i];
  }
};

const auto kDoubleAndAdd = chain(of<DoublingLayer>("Doubling"), joining(one<Joint>()), maybe<Rectifier>());

/// y = relu(2 x + z), x and z being the two bottoms of the chain.
class DoubleAndAdd : public Kernel {
 public:
  explicit DoubleAndAdd(const KernelRequest& request) {
    const auto [doubling, sum, relu] = kDoubleAndAdd.links(request);
    slope_ = relu ? relu->slope() : 1.0f;
    other_ = static_cast<size_t>(std::max(sum.bottom(0), sum.bottom(1)));
    booking_.reads_bottoms = {false, false};
    booking_.reads_tops = {true};
  }
  std::string describe() const override { return "double and add"; }

  void forward(const KernelRun& run) override {
    const float *x = run.bottoms[0].as<float>(), *z = run.bottoms[other_].as<float>();
    for (int64_t i = 0; i < run.tops[0].count(); ++i) {
      const float sum = 2 * x[i] + z[i];
      run.tops[0].as<float>()[i] = sum > 0 ? sum : slope_ * sum;
    }
  }

  void backward(const KernelRun& run) override {
    const float *y = run.tops[0].as<float>(), *dy = run.top_diffs[0].as<float>();
    for (size_t b = 0; b < 2; ++b) {
      if (!run.bottom_diffs[b]) continue;
      const float factor = b == other_ ? 1.0f : 2.0f;
      for (int64_t i = 0; i < run.tops[0].count(); ++i) {
        run.bottom_diffs[b].as<float>()[i] = factor * (y[i] > 0 ? dy[i] : slope_ * dy[i]);
      }
    }
  }

 private:
  float slope_;
  size_t other_;
};

std::unique_ptr<Kernel> make_double_and_add(const KernelRequest& request, std::string&) {
  return std::make_unique<DoubleAndAdd>(request);
}

ROBUSTA_REGISTER_LAYER("Doubling", DoublingLayer);
ROBUSTA_REGISTER_REFERENCE("Doubling", DoublingReference);
ROBUSTA_REGISTER_KERNEL(kDoubleAndAdd, "testing", 90, make_double_and_add);

/// `before` lies between the branching and the doubling, `between` between the doubling and the sum of `bottoms`.
std::string net_text(const std::string& bottoms, const std::string& between = "") {
  return R"(
    layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 3 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip'
            inner_product_param { num_output: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'twice' type: 'Doubling' bottom: 'ip' top: 'twice' } )" +
         between + "layer { name: 'sum' type: 'Eltwise' top: 'sum' " + bottoms + R"( }
    layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' relu_param { negative_slope: 0.5 } }
    layer { name: 'loss' type: 'EuclideanLoss' bottom: 'sum' bottom: 'x' top: 'loss' })";
}

/// The layers of the unit that begins with layer `first`.
size_t fused_from(const Net& net, const std::string& first) {
  for (const Unit& unit : net.plan().units) {
    if (net.graph().nodes[unit.nodes[0]].layer->name() == first) return unit.nodes.size();
  }
  return 0;
}

std::vector<float> run_net(const std::string& text, bool fuse, size_t fused) {
  NetOptions options;
  options.fuse = fuse;
  Net net(net_def(text), options);
  EXPECT_EQ(fused_from(net, "twice"), fused);
  fill_inputs(net, 1);
  return run_once(net);
}

TEST(Chains, TakeBottomsFromElsewhere) {
  for (const char* bottoms : {"bottom: 'twice' bottom: 'ip'", "bottom: 'ip' bottom: 'twice'"}) {
    SCOPED_TRACE(bottoms);
    expect_close(run_net(net_text(bottoms), true, 3), run_net(net_text(bottoms), false, 1), 1e-6);
  }
}

TEST(Chains, BeginOnlyWhenAllTheirBottomsAreThere) {
  const std::string later = "layer { name: 'later' type: 'Sigmoid' bottom: 'ip' top: 'later' } ";
  const std::string text = net_text("bottom: 'twice' bottom: 'later'", later);
  expect_close(run_net(text, true, 1), run_net(text, false, 1), 1e-6);
}

}  // namespace
}  // namespace robusta::test
