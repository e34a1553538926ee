// The worked example of CONTRIBUTING: a kernel for a layer and what follows it, y = relu(|x| + z).

#include <gtest/gtest.h>

#include <cmath>

#include "layers/kit/chain.h"
#include "layers/kit/rectifier.h"
#include "layers/kit/roles.h"
#include "layers/kit/unary.h"
#include "net/net.h"
#include "support/close.h"
#include "support/kernel_checks.h"
#include "support/nets.h"

namespace robusta {
namespace {

template <typename Math>
struct Magnitude {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  T value(T x) const { return Math::abs(x); }
  T slope(T x) const { return static_cast<T>((x > 0) - (x < 0)); }
};

ROBUSTA_REGISTER_LAYER("Magnitude", ElementwiseLayer);
const bool registered_reference =
    register_kernel({"Magnitude", "reference", "cpu", 0, make_unary_reference<Magnitude>});

const auto& magnitude_chain() {
  static const auto pattern = chain(of<ElementwiseLayer>("Magnitude"), joining(maybe<Joint>()), maybe<Rectifier>());
  return pattern;
}

class MagnitudeChain : public Kernel {
 public:
  explicit MagnitudeChain(const KernelRequest& request) {
    const auto [magnitude, sum, relu] = magnitude_chain().links(request);
    // Indices of request.bottoms; -1 for the one that comes from the chain.
    if (sum) other_ = std::max(sum.bottom(0), sum.bottom(1));
    if (relu) slope_ = relu->slope();
    booking_.reads_bottoms = {true, false};
    booking_.reads_tops = {true};  // it has the sign of what the ReLU would read
  }
  std::string describe() const override { return "|x|, a sum and a ReLU"; }

  void forward(const KernelRun& run) override {
    const float *x = run.bottoms[0].as<float>(), *z = other_ < 0 ? nullptr : run.bottoms[1].as<float>();
    float* y = run.tops[0].as<float>();
    parallel_for(run.tops[0].count(), kElementwiseGrain,
                 [=, this](int64_t i) { y[i] = rectified(std::abs(x[i]) + (z ? z[i] : 0), slope_); });
  }

  void backward(const KernelRun& run) override {
    const float *x = run.bottoms[0].as<float>(), *y = run.tops[0].as<float>(), *dy = run.top_diffs[0].as<float>();
    const auto down = [=, this](int64_t i) { return rectified_gradient(y[i], dy[i], slope_); };
    if (run.bottom_diffs[0]) {
      float* dx = run.bottom_diffs[0].as<float>();
      parallel_for(run.tops[0].count(), kElementwiseGrain,
                   [=](int64_t i) { dx[i] = down(i) * static_cast<float>((x[i] > 0) - (x[i] < 0)); });
    }
    if (other_ < 0 || !run.bottom_diffs[1]) return;
    float* dz = run.bottom_diffs[1].as<float>();
    parallel_for(run.tops[0].count(), kElementwiseGrain, [=](int64_t i) { dz[i] = down(i); });
  }

 private:
  int other_ = -1;
  float slope_ = 1;
};

std::unique_ptr<Kernel> make_magnitude_chain(const KernelRequest& request, std::string& why_not) {
  const auto [magnitude, sum, relu] = magnitude_chain().links(request);
  if (!is_f32(request, why_not)) return nullptr;
  const bool plain = !sum || (sum->is_sum() && sum->coeff(0) == 1 && sum->coeff(1) == 1);
  if (!plain || request.bottoms.size() > 2) return why_not = "takes sums of two alone", nullptr;
  if (relu && !relu->sign_survives()) return why_not = "a negative slope hides the sign", nullptr;
  return std::make_unique<MagnitudeChain>(request);
}

ROBUSTA_REGISTER_KERNEL(magnitude_chain(), "native", 20, make_magnitude_chain);

}  // namespace

namespace test {
namespace {

KernelCase with_relu(const std::string& slope) {
  return {{"type: 'Magnitude'", "type: 'ReLU' relu_param { negative_slope: " + slope + " }"}, {{2, 3, 4}}};
}

TEST(OwnChainTest, Alone) { compare_with_reference("native", {{"type: 'Magnitude'"}, {{2, 3, 4}}}); }
TEST(OwnChainTest, WithAReLU) { compare_with_reference("native", with_relu("0.5")); }
TEST(OwnChainTest, DeclinesWhatHidesTheSign) { expect_declined("native", with_relu("-0.5"), "hides the sign"); }

/// The other bottom of the sum may stand on either side; some of what it joins is below zero.
std::vector<float> run_net(const std::string& bottoms, bool fuse, size_t fused) {
  NetOptions options;
  options.fuse = fuse;
  Net net(net_def(R"(
    layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 3 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip'
            inner_product_param { num_output: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'z' type: 'Power' bottom: 'ip' top: 'z' power_param { scale: 2 shift: -1 } }
    layer { name: 'size' type: 'Magnitude' bottom: 'ip' top: 'size' }
    layer { name: 'sum' type: 'Eltwise' top: 'sum' )" +
                  bottoms + R"( }
    layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' relu_param { negative_slope: 0.25 } }
    layer { name: 'loss' type: 'EuclideanLoss' bottom: 'sum' bottom: 'x' top: 'loss' })"),
          options);
  for (const Unit& unit : net.plan().units) {
    const bool begins_chain = net.graph().nodes[unit.nodes[0]].layer->name() == "size";
    EXPECT_TRUE(!begins_chain || unit.nodes.size() == fused) << unit.nodes.size();
  }
  fill_inputs(net, 1);
  return run_once(net);
}

TEST(OwnChainTest, WithASumAndAReLU) {
  for (const char* bottoms : {"bottom: 'size' bottom: 'z'", "bottom: 'z' bottom: 'size'"}) {
    SCOPED_TRACE(bottoms);
    expect_close(run_net(bottoms, true, 3), run_net(bottoms, false, 1), 1e-6);
  }
}

TEST(OwnChainTest, LeavesOtherSumsToOthers) {
  const char* const bottoms = "bottom: 'size' bottom: 'z' eltwise_param { coeff: 1 coeff: -1 }";
  expect_close(run_net(bottoms, true, 1), run_net(bottoms, false, 1), 1e-6);
}

}  // namespace
}  // namespace test
}  // namespace robusta
