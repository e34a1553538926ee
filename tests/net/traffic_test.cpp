// What is counted for a GPU that is described, against counts by hand and against what a net launches that runs.
#include <gtest/gtest.h>

#include <tuple>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/traffic/plan_traffic.h"
#include "solver/update/update_traffic.h"
#include "solver/update/updater.h"
#include "support/nets.h"

namespace robusta::test::traffic_test {
namespace {

NetOptions options_for(Device& gpu, DType precision) {
  NetOptions options;
  options.device = &gpu;
  options.precision = precision;
  return options;
}

/// A net for a described H100, and what its passes were counted to do.
struct Counts {
  DescribedGpu gpu{size_t{1} << 30};
  Net net;
  TrafficCounter counter{KernelTimes(gpu_rates("h100"), true)};
  PlanTraffic traffic;

  explicit Counts(const std::string& text, DType precision = DType::kF32) : net(net_def(text), options(precision)) {
    traffic = count_passes(net, counter);
  }
  NetOptions options(DType precision) {
    NetOptions options = options_for(gpu, precision);
    options.plan_only = true;
    return options;
  }
  const PlanTraffic::OfUnit& of(const std::string& layer) const {
    for (const UnitId u : net.plan().units.ids()) {
      if (net.graph().nodes[net.plan().units[u].nodes[0]].layer->name() == layer) return traffic.units[u];
    }
    ADD_FAILURE() << "no unit begins with layer " << layer;
    return traffic.units[UnitId(0)];
  }
  int64_t launches() const {
    int64_t sum = traffic.packing.all().launches + traffic.unpacking.all().launches;
    for (const auto& unit : traffic.units) sum += unit.forward.all().launches + unit.backward.all().launches;
    return sum;
  }
};

const char* const kInput =
    "layer { name: 'in' type: 'Input' top: 'x' top: 'label' "
    "input_param { shape { dim: 8 dim: 16 dim: 12 dim: 10 } shape { dim: 8 } } }\n";
const char* const kLoss =
    "layer { name: 'fc' type: 'InnerProduct' bottom: 'last' top: 'fc' "
    "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
const char* const kNorm =
    "layer { name: 'norm' type: 'BatchNorm' bottom: 'first' top: 'n' }\n"
    "layer { name: 'scale' type: 'Scale' bottom: 'n' top: 'n' scale_param { bias_term: true } }\n"
    "layer { name: 'relu' type: 'ReLU' bottom: 'n' top: 'last' }\n";
constexpr double kElements = 8 * 16 * 12 * 10;

std::string first_layer(const std::string& layer) { return std::string(kInput) + layer; }
const char* const kAffine =
    "layer { name: 'affine' type: 'Scale' bottom: 'x' top: 'first' scale_param { bias_term: true } }\n";

/// Moments read x, then y is made of x; backward both sums and dx read x and dy.
TEST(Traffic, ABatchNormReadsTwice) {
  const Counts f32(first_layer(kAffine) + kNorm + kLoss), half(first_layer(kAffine) + kNorm + kLoss, DType::kBF16);
  constexpr double kOfChannels = 3000;  // what there is of each channel, and sums of blocks
  for (const auto& [counts, size] : {std::pair{&f32, 4}, std::pair{&half, 2}}) {
    const auto& norm = counts->of("norm");
    EXPECT_EQ(norm.forward.all().launches, 2);
    EXPECT_EQ(norm.backward.all().launches, 2);
    EXPECT_EQ(norm.forward.products.launches, 0);
    EXPECT_NEAR(norm.forward.all().bytes, 3 * kElements * size + kOfChannels, kOfChannels);
    EXPECT_NEAR(norm.backward.all().bytes, 5 * kElements * size + kOfChannels, kOfChannels);
  }
}

/// With a sum and a ReLU: of its result backward reads a byte for four elements, and two gradients where two read it.
TEST(Traffic, ABlockReadsSignsBackward) {
  const std::string block =
      "layer { name: 'norm' type: 'BatchNorm' bottom: 'first' top: 'n' }\n"
      "layer { name: 'sum' type: 'Eltwise' bottom: 'first' bottom: 'n' top: 'sum' }\n"
      "layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'last' }\n";
  const std::string other =
      "layer { name: 'other' type: 'EuclideanLoss' bottom: 'last' bottom: 'x' top: 'other_loss' }\n";
  for (const bool two : {false, true}) {
    const Counts counts(first_layer(kAffine) + block + kLoss + (two ? other : ""));
    const auto& norm = counts.of("norm");
    constexpr double kSmall = 3000, kSigns = kElements / 4;
    EXPECT_EQ(norm.forward.all().launches, 2);
    EXPECT_NEAR(norm.forward.all().bytes, 4 * kElements * 4 + kSigns + kSmall, kSmall);
    EXPECT_EQ(norm.backward.all().launches, 2);
    EXPECT_NEAR(norm.backward.all().bytes, (two ? 7 : 6) * kElements * 4 + kSigns + kSmall, kSmall);
  }
}

/// Each operand once, and the bias; the weights' gradient, the bottom's, the sums for the bias.
TEST(Traffic, AnInnerProductIsThreeProducts) {
  const Counts counts(first_layer(kAffine) + kNorm + kLoss);
  const auto& fc = counts.of("fc");
  constexpr double kInputs = kElements / 8, kWeights = 5 * kInputs;
  EXPECT_EQ(fc.forward.products.launches, 1);
  EXPECT_EQ(fc.forward.products.flops, 2 * 8 * kWeights);
  EXPECT_EQ(fc.forward.products.bytes, 4 * (kElements + kWeights + 8 * 5));
  EXPECT_EQ(fc.forward.others.launches, 1);
  EXPECT_EQ(fc.backward.products.launches, 2);
  EXPECT_EQ(fc.backward.products.bytes, 2 * 4 * (kElements + kWeights + 8 * 5));
  EXPECT_EQ(fc.backward.others.launches, 1);
}

/// By a library's kernel for each pass; of our own ReLU's mask with the bias's sums. Filters and biases are packed
/// before the pass, and the gradient of the former is brought back behind it.
TEST(Traffic, AConvolutionIsALaunchPerPass) {
  const std::string conv =
      "layer { name: 'conv' type: 'Convolution' bottom: 'first' top: 'c' "
      "convolution_param { num_output: 24 kernel_size: 3 pad: 1 weight_filler { type: 'msra' } } }\n"
      "layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'last' }\n";
  const Counts counts(first_layer(kAffine) + conv + kLoss, DType::kBF16);
  const auto& unit = counts.of("conv");
  constexpr double kResults = kElements / 16 * 24, kWeights = 24 * 16 * 9;
  EXPECT_EQ(unit.forward.products.launches, 1);
  EXPECT_EQ(unit.forward.others.launches, 1) << "the image comes plain, and is brought to channels last";
  EXPECT_EQ(unit.forward.products.flops, 2 * kResults * 16 * 9);
  EXPECT_EQ(unit.forward.products.bytes, 2 * (kElements + kResults + kWeights + 24));
  EXPECT_EQ(unit.backward.products.launches, 2);
  EXPECT_EQ(unit.backward.products.flops, 4 * kResults * 16 * 9);
  // The gradient comes plain from the InnerProduct.
  const double masked = 3 * 2 * kResults, reordered = 2 * 2 * kResults, sums = 3000;
  EXPECT_EQ(unit.backward.others.launches, 2);
  EXPECT_NEAR(unit.backward.others.bytes, masked + reordered + sums, sums);
  EXPECT_EQ(counts.traffic.unpacking.all().launches, 1);
  EXPECT_EQ(counts.traffic.unpacking.all().bytes, (2 + 4) * kWeights);
  EXPECT_EQ(counts.traffic.packing.all().launches, 1);
  EXPECT_EQ(counts.traffic.packing.all().bytes, (4 + 2) * (kWeights + 24 + 5 * kResults / 8));
}

/// Sums its results for the BatchNorm that reads them, which then reads them once: where they are rounded to 16 bits.
TEST(Traffic, AConvolutionSumsForABatchNorm) {
  const std::string conv =
      "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'first' "
      "convolution_param { num_output: 16 kernel_size: 1 bias_term: false weight_filler { type: 'msra' } } }\n";
  const Counts f32(first_layer(conv) + kNorm + kLoss), half(first_layer(conv) + kNorm + kLoss, DType::kBF16);
  constexpr double kOfChannels = 3000;
  for (const auto& [counts, size, sums] : {std::tuple{&f32, 4, 0}, std::tuple{&half, 2, 1}}) {
    const auto& norm = counts->of("norm");
    EXPECT_EQ(norm.forward.all().launches, 2 - sums);
    EXPECT_NEAR(norm.forward.all().bytes, (3 - sums) * kElements * size + kOfChannels, kOfChannels);
    EXPECT_EQ(counts->of("conv").forward.products.bytes, (2 * kElements + 16 * 16) * size + sums * 2 * 16 * 4);
  }
}

const char* const kBranches =
    "layer { name: 'a' type: 'Pooling' bottom: 'last' top: 'a' pooling_param { kernel_size: 3 stride: 2 } }\n"
    "layer { name: 'b' type: 'Pooling' bottom: 'last' top: 'b' pooling_param { pool: AVE kernel_size: 3 stride: 2 } }\n"
    "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }\n"
    "layer { name: 'lrn' type: 'LRN' bottom: 'sum' top: 'lrn' }\n"
    "layer { name: 'cat' type: 'Concat' bottom: 'lrn' bottom: 'b' top: 'cat' }\n"
    "layer { name: 'drop' type: 'Dropout' bottom: 'cat' top: 'cat' }\n"
    "layer { name: 'fc' type: 'InnerProduct' bottom: 'cat' top: 'fc' inner_product_param { num_output: 5 } }\n"
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";

/// Where all kernels are our own the fake device, which runs them, counts as many.
TEST(Traffic, LaunchesAreThoseOfANetThatRuns) {
  for (const DType precision : {DType::kF32, DType::kBF16}) {
    const std::string text = first_layer(kAffine) + kNorm + kBranches;
    Counts counts(text, precision);
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    Net net(net_def(text), options_for(gpu, precision));
    fill_inputs(net, 1);
    const Pass pass{.batch = 8};
    uint64_t before = 0;
    for (int i = 0; i < 4; ++i) {  // as they come, recorded, and launched as graphs
      net.stream().synchronize();
      before = gpu.kernels();
      net.forward(pass);
      net.backward(pass, false);
      net.stream().synchronize();
      EXPECT_EQ(counts.launches(), static_cast<int64_t>(gpu.kernels() - before)) << i << name_of(precision);
    }

    SolverDef solver;
    solver.param.set_momentum(0.9f);
    Updater updater(solver, net);
    before = gpu.kernels();
    updater.begin({.rate = 0.1, .momentum = 0.9});
    updater.finish();
    net.stream().synchronize();
    const auto update = count_update(counts.net, solver, counts.counter).all();
    EXPECT_EQ(update.launches, static_cast<int64_t>(gpu.kernels() - before));
    double elements = 0;
    for (const ParamPtr& param : counts.net.params()) {
      if (!param->statistic) elements += static_cast<double>(param->desc.count());
    }
    EXPECT_EQ(update.bytes, elements * 4 * 5) << "reads gradients, changes weights and histories";
  }
}

/// What such layers carry from pass to pass has memory in a net that runs alone.
TEST(Traffic, RecurrentLayers) {
  for (const char* type : {"LSTM", "RNN"}) {
    const Counts counts(
        str("layer { name: 'in' type: 'Input' top: 'x' top: 'cont' "
            "input_param { shape { dim: 3 dim: 2 dim: 5 } shape { dim: 3 dim: 2 } } }\n"
            "layer { name: 'cells' type: '",
            type,
            "' bottom: 'x' bottom: 'cont' top: 'h' recurrent_param { num_output: 4 "
            "weight_filler { type: 'xavier' } } }\n"
            "layer { name: 'loss' type: 'Reduction' bottom: 'h' top: 'loss' loss_weight: 1 }\n"));
    EXPECT_GT(counts.of("cells").forward.all().launches, 0) << type;
    EXPECT_GT(counts.of("cells").backward.all().launches, 0) << type;
  }
}

TEST(Traffic, AKernelTakesAsLongAsItsSlowestPart) {
  const GpuRates& h100 = gpu_rates("h100");
  const KernelTimes times(h100, false);
  EXPECT_DOUBLE_EQ(times.of(0, 0, DType::kF32).seconds(), h100.kernel_seconds);
  const KernelTraffic products = times.of(1e6, 1e12, DType::kBF16), plain = times.of(1e6, 1e12, DType::kF32);
  EXPECT_DOUBLE_EQ(products.arithmetic_seconds, 1e12 / (h100.tensor_16 * kReachedArithmetic));
  EXPECT_DOUBLE_EQ(plain.arithmetic_seconds, 1e12 / (h100.f32 * kReachedArithmetic));
  EXPECT_STREQ(products.bound(), "arithmetic");
  const KernelTraffic copies = times.of(1e9, 1, DType::kBF16);
  EXPECT_DOUBLE_EQ(copies.seconds(), 1e9 / (h100.memory * kReachedMemory));
  EXPECT_STREQ(copies.bound(), "memory");
}

}  // namespace
}  // namespace robusta::test::traffic_test
