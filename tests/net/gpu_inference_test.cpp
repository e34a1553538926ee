// Nets on the GPU that only run forward, emulated, with a library of convolutions: a constant BatchNorm, the sum at the
// end of a residual block and the ReLU after it in the convolution, weights that are made ready once.

#include <gtest/gtest.h>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/close.h"
#include "support/lms.h"
#include "support/nets.h"
#include "support/plain_library.h"

namespace robusta::test::gpu_inference_test {
namespace {

ROBUSTA_REGISTER_GPU_KERNEL(FusedConvolution::pattern(), "plain library", 20, make_convolution_plain);

struct Block {
  std::string convolution = "kernel_size: 3 pad: 1";    ///< fields of the second one, whose result is added
  std::string terms = "bottom: 'short' bottom: 'res'";  ///< of the sum
  std::string after = "";                               ///< layers between the second convolution and the sum, of 'res'
  std::string eltwise = "";                             ///< fields of the sum
  std::string relu = "";                                ///< fields of the ReLU
  std::string stem = "kernel_size: 1";                  ///< fields of the convolution that reads the image
  int channels = 5;                                     ///< of the image
};

const char* const kNorm = R"(layer { name: 'bn' type: 'BatchNorm' bottom: 'res' top: 'res' }
    layer { name: 'scale' type: 'Scale' bottom: 'res' top: 'res' scale_param { bias_term: true
            filler { type: 'uniform' min: 0.5 max: 2 } bias_filler { type: 'uniform' min: -1 max: 1 } } })";

std::string text_of(const Block& block) {
  return str(R"(layer { name: 'in' type: 'Input' top: 'x' top: 'label'
            input_param { shape { dim: 2 dim: )",
             block.channels, R"( dim: 9 dim: 7 } shape { dim: 2 } } }
    layer { name: 'short' type: 'Convolution' bottom: 'x' top: 'short' convolution_param {
            num_output: 8 )",
             block.stem, R"( weight_filler { type: 'msra' } } }
    layer { name: 'res' type: 'Convolution' bottom: 'short' top: 'res' convolution_param { num_output: 8 )",
             block.convolution, R"( weight_filler { type: 'msra' } bias_filler { type: 'uniform' } } })", block.after,
             " layer { name: 'sum' type: 'Eltwise' top: 'sum' ", block.terms, " eltwise_param { ", block.eltwise,
             " } } layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' relu_param { ", block.relu, " } } ");
}

/// Statistics that are no zeros and ones.
void fill_statistics(Net& net) {
  for (const ParamPtr& param : net.params()) {
    if (!param->statistic) continue;
    std::vector<float> values = net.blobs().read_param(*param);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 2.0f + 0.25f * static_cast<float>(i + param->index);
    net.blobs().write_param(*param, values);
  }
}

void double_params(Net& net) {
  for (const ParamPtr& param : net.params()) {
    std::vector<float> values = net.blobs().read_param(*param);
    for (float& value : values) value *= 2;
    net.blobs().write_param(*param, values);
  }
}

std::vector<float> outputs(Net& net) {
  net.forward({.batch = net.batch()});
  return net.blobs().read("sum");
}

NetOptions test_options(Device& gpu, DType precision) {
  NetOptions options;
  options.device = &gpu;
  options.precision = precision;
  options.phase = caffe::TEST;
  options.backward = false;
  return options;
}

/// How many layers the kernel computes that begins with this layer.
size_t layers_from(const Net& net, const std::string& name) {
  for (const Unit& unit : net.plan().units) {
    if (net.graph().nodes[unit.nodes[0]].layer->name() == name) return unit.nodes.size();
  }
  return 0;
}

/// What the net gives in five passes, of which the last two are with doubled parameters. `fused`: how many layers one
/// kernel should compute from the second convolution on; 0: layer by layer.
std::vector<float> run(const Block& block, size_t fused, DType precision, const LmsOptions& lms = {}) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions options = test_options(gpu, precision);
  options.fuse = fused > 0;
  options.poison = true;
  options.lms = lms;
  Net net(net_def(text_of(block), caffe::TEST), options);
  EXPECT_EQ(layers_from(net, "res"), std::max<size_t>(fused, 1));
  fill_inputs(net, 1);
  fill_statistics(net);
  std::vector<float> all;
  for (int pass = 0; pass < 5; ++pass) {
    if (pass == 3) double_params(net);
    const std::vector<float> sums = outputs(net);
    all.insert(all.end(), sums.begin(), sums.end());
  }
  return all;
}

void compare(const Block& block, size_t fused, const LmsOptions& lms = {}) {
  SCOPED_TRACE(text_of(block));
  const std::vector<float> apart = run(block, 0, DType::kF32);
  for (const bool fuses : {true, false}) {
    SCOPED_TRACE(fuses ? "by the library" : "by us");
    const WithPlainLibrary library(fuses);
    expect_close(run(block, fused, DType::kF32, lms), apart, 2e-5);
    expect_close(run(block, fused, DType::kBF16, lms), apart, 0.03);
    EXPECT_GT(plain_library.convolutions, 0);
  }
}

TEST(GpuInference, SumAndReluInTheConvolution) {
  for (const char* convolution : {"kernel_size: 1", "kernel_size: 3 pad: 1", "kernel_size: 3 pad: 1 group: 2",
                                  "kernel_size: 3 pad: 1 group: 8", "kernel_size: 3 pad: 1 bias_term: false"}) {
    for (const char* terms : {"bottom: 'short' bottom: 'res'", "bottom: 'res' bottom: 'short'"}) {
      compare({.convolution = convolution, .terms = terms}, 3);
    }
    compare({.convolution = convolution, .after = kNorm}, 5);
    compare({.convolution = convolution, .terms = "bottom: 'res' bottom: 'short'", .after = kNorm}, 5);
  }
}

/// A BatchNorm by itself; a slope that the library leaves to us, and with it all that comes before.
TEST(GpuInference, OtherNormsAndSlopes) {
  compare({.after = "layer { name: 'bn' type: 'BatchNorm' bottom: 'res' top: 'res' }"}, 4);
  compare({.after = kNorm, .relu = "negative_slope: 0.25"}, 5);
  compare({.after = std::string(kNorm) + "layer { name: 'r' type: 'ReLU' bottom: 'res' top: 'res' }"}, 4);
}

/// As the first convolution of a net is, by space to depth: of three channels, with a stride.
TEST(GpuInference, TheFirstConvolutionIsFoldedTwice) {
  const std::string norm = "layer { name: 'bn' type: 'BatchNorm' bottom: 'short' top: 'short' }";
  Block block{.after = kNorm, .stem = "kernel_size: 7 pad: 3 stride: 2", .channels = 3};
  std::string layers = text_of(block);
  layers.insert(layers.find("layer { name: 'res'"), norm + " ");
  const auto results = [&](bool fuse, DType precision) {
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    NetOptions options = test_options(gpu, precision);
    options.fuse = fuse;
    Net net(net_def(layers, caffe::TEST), options);
    EXPECT_EQ(layers_from(net, "short"), fuse ? 2u : 1u);
    fill_inputs(net, 1);
    fill_statistics(net);
    return outputs(net);
  };
  const std::vector<float> apart = results(false, DType::kF32);
  const WithPlainLibrary library(true);
  expect_close(results(true, DType::kF32), apart, 2e-5);
  expect_close(results(true, DType::kBF16), apart, 0.03);
}

/// What is added may lie in the sum's memory only if it is not read after the convolution has written there.
TEST(GpuInference, TermsThatOthersReadLater) {
  for (const bool fuses : {true, false}) {
    Block block{.after = kNorm};
    const std::string text =
        text_of(block) + " layer { name: 'late' type: 'Eltwise' bottom: 'sum' bottom: 'short' top: 'late' }";
    const auto results = [&](bool fuse) {
      SimDevice gpu(size_t{64} << 20, 0, "emulated");
      NetOptions options = test_options(gpu, DType::kF32);
      options.fuse = fuse;
      Net net(net_def(text, caffe::TEST), options);
      fill_inputs(net, 1);
      net.forward({.batch = 2});
      return net.blobs().read("late");
    };
    const std::vector<float> apart = results(false);
    const WithPlainLibrary library(fuses);
    expect_close(results(true), apart, 2e-5);
  }
}

TEST(GpuInference, LeavesOtherSumsToOthers) {
  compare({.eltwise = "coeff: 1 coeff: -1"}, 1);
  compare({.eltwise = "operation: MAX"}, 1);
}

/// Without memory for what is made of parameters it is made in each pass.
TEST(GpuInference, WithLargeModelSupport) {
  compare({.after = kNorm}, 5, {.mode = LmsOptions::Mode::kThreshold, .fraction = 0.5});
}

/// Parameters are made ready when they have changed: loaded, or once more for a recording.
TEST(GpuInference, WeightsAreMadeReadyOnce) {
  const WithPlainLibrary library(true);
  for (const DType precision : {DType::kF32, DType::kBF16}) {
    plain_library.prepared = 0;
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    Net net(net_def(text_of({.after = kNorm}), caffe::TEST), test_options(gpu, precision));
    fill_inputs(net, 1);
    fill_statistics(net);
    for (int pass = 0; pass < 3; ++pass) outputs(net);
    const int so_far = plain_library.prepared;
    EXPECT_GT(so_far, 0);
    const uint64_t before = gpu.kernels();
    outputs(net);
    EXPECT_EQ(plain_library.prepared, so_far);
    // What the library launches the device does not count: the image is brought into its form.
    EXPECT_EQ(gpu.kernels() - before, 1u) << name_of(precision);
    double_params(net);
    outputs(net);
    EXPECT_GT(plain_library.prepared, so_far);
  }
}

/// Neither does the host wait for more than the end, nor does it launch steps: a graph, and looks at versions.
TEST(GpuInference, ASteadyPassIsOneGraph) {
  const WithPlainLibrary library(true);
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  Net net(net_def(text_of({.after = kNorm}), caffe::TEST), test_options(gpu, DType::kBF16));
  fill_inputs(net, 1);
  for (int pass = 0; pass < 3; ++pass) outputs(net);
  const uint64_t launches = gpu.launches(), waits = gpu.host_waits(), synchronizations = gpu.synchronizations();
  for (int pass = 0; pass < 4; ++pass) net.forward({.batch = 2});
  EXPECT_EQ(net.diagnostics().graphs().recordings, 1);
  EXPECT_EQ(gpu.launches() - launches, 4u * 2);
  EXPECT_LE(gpu.host_waits() - waits, 4u);
  EXPECT_EQ(gpu.synchronizations(), synchronizations);
}

/// The other net's statistics move with each of its passes, its weights with each update.
TEST(GpuInference, ATestNetSeesWhatATrainingChanges) {
  const WithPlainLibrary library(true);
  const std::string text = text_of({.after = kNorm}) +
                           "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'sum' bottom: 'short' top: 'loss' "
                           "include { phase: TRAIN } }";
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions training;
  training.device = &gpu;
  Net train(net_def(text), training);
  NetOptions fused = test_options(gpu, DType::kF32), apart = fused;
  fused.share_params = apart.share_params = &train;
  apart.fuse = false;
  Net test(net_def(text, caffe::TEST), fused), other(net_def(text, caffe::TEST), apart);
  EXPECT_EQ(layers_from(test, "res"), 5u);
  for (Net* net : {&train, &test, &other}) fill_inputs(*net, 1);
  std::vector<float> before;
  for (int round = 0; round < 4; ++round) {
    for (int pass = 0; pass < 3; ++pass) {
      train.forward({.batch = 2});
      train.backward({.batch = 2}, false);
    }
    const std::vector<float> now = outputs(test);
    EXPECT_NE(now, before) << round;
    expect_close(now, outputs(other), 2e-5);
    before = now;
  }
}

/// Inputs of another size are planned and recorded anew, with the same weights.
TEST(GpuInference, InputsChangeTheirSize) {
  const WithPlainLibrary library(true);
  const auto results = [&](bool fuse) {
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    NetOptions options = test_options(gpu, DType::kBF16);
    options.fuse = fuse;
    Net net(net_def(text_of({.after = kNorm}), caffe::TEST), options);
    fill_statistics(net);
    std::vector<float> all;
    for (const int64_t size : {9, 6, 12, 9}) {
      net.reshape_input("x", Shape{1, 5, size, size});
      fill_inputs(net, 3);
      for (int pass = 0; pass < 4; ++pass) {
        const std::vector<float> sums = outputs(net);
        all.insert(all.end(), sums.begin(), sums.end());
      }
      EXPECT_EQ(net.diagnostics().graphs().why_not, "");
      EXPECT_EQ(net.diagnostics().graphs().recordings, 1);
    }
    return all;
  };
  expect_close(results(true), results(false), 0.03);
}

}  // namespace
}  // namespace robusta::test::gpu_inference_test
