// Convolution on cuDNN: its plans for a GPU that is only described, which needs none, and its results where there is
// one.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/str.h"
#include "device/cuda/dnn/dnn_error.h"
#include "layers/kit/convolution_base.h"
#include "layers/types/convolution/dnn_choice_cuda.h"
#include "robusta/error.h"
#include "support/convolution_cases.h"
#include "support/kernel_checks.h"

namespace robusta::test::convolution_cuda_test {
namespace {

using dnn::Direction;

constexpr Direction kDirections[] = {Direction::kForward, Direction::kBackwardData, Direction::kBackwardFilters};
constexpr MathOptions kStrict{.tf32 = false};
// Winograd kernels with tiles of 4x4 are among those that cuDNN takes for f32.
constexpr double kTolerance = 1e-4;

/// A GPU of compute capability 9.0, in the words of cuDNN.
constexpr const char* kH100 = R"({"deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000,
  "cudaDeviceId": 0, "multiProcessorCount": 132, "totalGlobalMem": 85029158912, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "l2CacheSize": 52428800, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0, "supportCoopLaunch": 1})";

/// Plans for the described GPU; skipped where this cuDNN does not read descriptions.
class CudnnPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      site_.emplace(dnn::Site{dnn::Target::described(kH100), kStrict, nullptr, "H100", nullptr, nullptr});
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN plans only for a GPU that is there: " << error.cause();
    }
  }

  static dnn::Problem problem_of(const KernelCase& what, bool channels_last, bool relu = false) {
    const auto layer = make_layer([&] {
      caffe::LayerParameter param = parse_layer(what.layers[0]);
      param.set_name("conv");
      return param;
    }());
    layer->infer_tops(what.bottoms);
    const auto& convolution = static_cast<const ConvolutionBase&>(*layer);
    dnn::Problem problem;
    problem.geometry = convolution.geometry();
    problem.channels_last = channels_last;
    problem.bias = convolution.has_bias();
    problem.relu = relu;
    return problem;
  }

  /// Expects plans for all directions.
  void expect_plans(const dnn::Problem& problem) {
    for (const Direction direction : kDirections) {
      std::string why_not;
      const dnn::Choice choice = choose_plan(direction, problem, *site_, why_not);
      EXPECT_TRUE(choice.plan) << problem.key(direction) << ": " << why_not;
    }
  }

  std::optional<dnn::Site> site_;
};

std::vector<KernelCase> all_cases() {
  std::vector<KernelCase> cases = convolution_cases();
  for (const KernelCase& c : blocked_convolution_cases()) cases.push_back(c);
  return cases;
}

TEST_F(CudnnPlans, AreThereForAllCases) {
  for (const KernelCase& c : all_cases()) {
    dnn::Problem problem = problem_of(c, true);
    if (problem.geometry.axes.size() > 3) continue;
    for (const MathOptions& rules : {MathOptions{}, kStrict, MathOptions{.tf32 = false, .deterministic = true}}) {
      SCOPED_TRACE(str(rules.tf32 ? "tf32" : "f32", rules.deterministic ? ", deterministic" : ""));
      site_->rules = rules;
      for (const bool channels_last : {true, false}) {
        problem.channels_last = channels_last;
        expect_plans(problem);
      }
    }
  }
}

/// Without TF32, too: it is no question for 16 bits.
TEST_F(CudnnPlans, AreThereForSixteenBits) {
  for (const KernelCase& c : all_cases()) {
    dnn::Problem problem = problem_of(c, true);
    if (problem.geometry.axes.size() > 3) continue;
    for (const DType type : {DType::kBF16, DType::kF16}) {
      problem.type = type;
      expect_plans(problem);
    }
  }
}

TEST_F(CudnnPlans, FuseBiasAndRelu) {
  const KernelCase c = convolution("num_output: 64 kernel_size: 3 pad: 1", {{8, 64, 28, 28}});
  for (const bool tf32 : {true, false}) {
    site_->rules.tf32 = tf32;
    std::string why_not;
    const dnn::Choice choice = choose_plan(Direction::kForward, problem_of(c, true, true), *site_, why_not);
    ASSERT_TRUE(choice.plan) << why_not;
    EXPECT_TRUE(choice.fused);
  }
  for (const DType type : {DType::kBF16, DType::kF16}) {
    dnn::Problem problem = problem_of(c, true, true);
    problem.type = type;
    std::string why_not;
    EXPECT_TRUE(choose_plan(Direction::kForward, problem, *site_, why_not).fused) << why_not;
  }
}

/// As a net needs them that only runs forward: the term of a residual block's sum, then the bias, of a folded
/// BatchNorm, too.
TEST_F(CudnnPlans, FuseTheSumOfAResidualBlock) {
  for (const char* fields : {"num_output: 64 kernel_size: 3 pad: 1", "num_output: 256 kernel_size: 1"}) {
    dnn::Problem problem = problem_of(convolution(fields, {{8, 64, 28, 28}}), true, true);
    problem.adds = true;
    for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) {
      problem.type = type;
      std::string why_not;
      EXPECT_TRUE(choose_plan(Direction::kForward, problem, *site_, why_not).fused) << why_not << name_of(type);
    }
  }
}

/// Engines that cuDNN compiles, for which it wants NVIDIA's driver, or the toolkit's stub of it (lib/stubs) under the
/// name libcuda.so.1. Untimed they are not taken.
TEST_F(CudnnPlans, GateTheGradientOfTheData) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (!driver) GTEST_SKIP() << "no driver: " << dlerror();
  site_->rules.tf32 = true;
  dnn::Problem problem = problem_of(convolution("num_output: 64 kernel_size: 3 pad: 1", {{8, 64, 28, 28}}), true);
  problem.gates = true;
  for (const DType type : {DType::kF32, DType::kBF16}) {
    problem.type = type;
    std::string why_not;
    const auto graph = make_graph(Direction::kBackwardData, problem, site_->target, why_not);
    ASSERT_TRUE(graph) << why_not;
    EXPECT_FALSE(find_engines(site_->target, *graph, site_->rules, 16).empty()) << name_of(type);
    EXPECT_FALSE(choose_plan(Direction::kBackwardData, problem, *site_, why_not).fused) << name_of(type);
  }
}

/// Sums of results by channel, behind a bias or none: for all GPUs of today engines that are compiled, for f16 some
/// that are not. Untimed they are not taken.
TEST_F(CudnnPlans, SumTheResult) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (!driver) GTEST_SKIP() << "no driver: " << dlerror();
  site_->rules.tf32 = true;  // what 16 bits are asked for with
  for (const char* fields : {"num_output: 64 kernel_size: 3 pad: 1", "num_output: 256 kernel_size: 1 bias_term: false",
                             "num_output: 128 kernel_size: 3 pad: 1 stride: 2 bias_term: false"}) {
    dnn::Problem problem = problem_of(convolution(fields, {{8, 64, 28, 28}}), true);
    for (const DType type : {DType::kBF16, DType::kF16}) {
      SCOPED_TRACE(str(fields, " ", name_of(type)));
      problem.type = type;
      problem.sums = problem.rounds_apart = false;
      std::string why_not;
      const dnn::Choice apart = choose_plan(Direction::kForward, problem, *site_, why_not);
      ASSERT_TRUE(apart.plan) << why_not;
      problem.sums = true;
      const dnn::Choice untimed = choose_plan(Direction::kForward, problem, *site_, why_not, &apart);
      EXPECT_FALSE(untimed.sums);
      EXPECT_EQ(untimed.plan, apart.plan);
      for (const bool rounds_apart : {false, true}) {
        problem.rounds_apart = rounds_apart;
        if (rounds_apart && problem.bias) continue;
        const auto graph = make_graph(Direction::kForward, problem, site_->target, why_not);
        ASSERT_TRUE(graph) << why_not;
        EXPECT_FALSE(find_engines(site_->target, *graph, site_->rules, 16).empty()) << rounds_apart;
      }
    }
  }
}

TEST_F(CudnnPlans, FollowTheRules) {
  const dnn::Problem problem = problem_of(convolution("num_output: 64 kernel_size: 3 pad: 1", {{8, 64, 28, 28}}), true);
  const auto names = [&](Direction direction, const MathOptions& rules) {
    std::string why_not;
    const auto graph = make_graph(direction, problem, site_->target, why_not);
    std::vector<std::string> names;
    for (const dnn::Engine& engine : find_engines(site_->target, *graph, rules, 1000)) names.push_back(engine.name);
    return names;
  };
  for (const Direction direction : kDirections) {
    const auto any = names(direction, {}), strict = names(direction, kStrict);
    EXPECT_FALSE(strict.empty());
    EXPECT_LT(strict.size(), any.size());
    for (const std::string& name : strict) EXPECT_NE(std::find(any.begin(), any.end(), name), any.end()) << name;
    EXPECT_EQ(std::set<std::string>(any.begin(), any.end()).size(), any.size()) << "named alike";
    for (const std::string& name : any) EXPECT_EQ(name.find(' '), std::string::npos) << name;
  }
  const Direction filters = Direction::kBackwardFilters;
  EXPECT_LT(names(filters, {.tf32 = true, .deterministic = true}).size(), names(filters, {}).size());
}

/// An engine counts once for each choice of its settings (tiles, splits of the sum, ...), which its name tells apart.
TEST_F(CudnnPlans, DifferInSettings) {
  dnn::Problem problem = problem_of(convolution("num_output: 256 kernel_size: 3 pad: 1", {{64, 256, 14, 14}}), true);
  problem.type = DType::kBF16;
  for (const Direction direction : kDirections) {
    std::string why_not;
    const auto graph = make_graph(direction, problem, site_->target, why_not);
    std::map<std::string, int> settings;
    for (const dnn::Engine& engine : find_engines(site_->target, *graph, {}, 1000)) {
      ++settings[engine.name.substr(0, engine.name.find("_k"))];
    }
    const int most = std::ranges::max_element(settings, {}, [](const auto& one) { return one.second; })->second;
    EXPECT_GT(most, 3) << problem.key(direction);
  }
}

TEST_F(CudnnPlans, AreFoundAgainInTheCache) {
  dnn::PlanCache cache;
  site_->cache = &cache;
  const dnn::Problem problem = problem_of(convolution("num_output: 8 kernel_size: 3", {{2, 4, 9, 9}}), true);
  std::string why_not;
  const auto first = choose_plan(Direction::kForward, problem, *site_, why_not).plan;
  EXPECT_EQ(choose_plan(Direction::kForward, problem, *site_, why_not).plan, first);
  EXPECT_NE(choose_plan(Direction::kBackwardData, problem, *site_, why_not).plan, first);
}

TEST_F(CudnnPlans, SayWhyThereIsNone) {
  dnn::Problem problem = problem_of(convolution("num_output: 8 kernel_size: 3", {{2, 4, 9, 9}}), true);
  problem.geometry.axes[0].out += 1;  // the result does not fit the image
  std::string why_not;
  EXPECT_FALSE(choose_plan(Direction::kForward, problem, *site_, why_not).plan);
  EXPECT_NE(why_not, "");
}

TEST(CudnnErrors, HaveKindAndFix) {
  const auto kind_of = [](cudnnStatus_t status) {
    try {
      check_dnn(status, "a test");
    } catch (const Error& error) {
      EXPECT_NE(error.fix(), "");
      EXPECT_NE(error.cause().find("a test"), std::string::npos);
      return error.kind();
    }
    return ErrorKind::kUsage;
  };
  EXPECT_EQ(kind_of(CUDNN_STATUS_SUCCESS), ErrorKind::kUsage);
  EXPECT_EQ(kind_of(CUDNN_STATUS_BAD_PARAM_NULL_POINTER), ErrorKind::kInternal);
  EXPECT_EQ(kind_of(CUDNN_STATUS_NOT_SUPPORTED_SHAPE), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED), ErrorKind::kMemory);
  EXPECT_EQ(kind_of(CUDNN_STATUS_EXECUTION_FAILED_CUDART), ErrorKind::kDevice);
}

/// The GPU's rules for math, while it lives.
class MathScope {
 public:
  explicit MathScope(const MathOptions& math) : before_(test_gpu()->math()) { test_gpu()->set_math(math); }
  ~MathScope() { test_gpu()->set_math(before_); }

 private:
  MathOptions before_;
};

/// With a real GPU.
class CudnnConvolutionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test_gpu()) GTEST_SKIP() << "no GPU";
    how_ = {.kind = "cuda", .device = test_gpu()};
  }
  void compare(const KernelCase& what, double tolerance = kTolerance) {
    if (problem_axes(what) > 3) return;
    compare_with_reference("cudnn", what, tolerance, how_);
  }
  static int problem_axes(const KernelCase& what) {
    const auto layer = make_layer([&] {
      caffe::LayerParameter param = parse_layer(what.layers[0]);
      param.set_name("conv");
      return param;
    }());
    layer->infer_tops(what.bottoms);
    return static_cast<int>(static_cast<const ConvolutionBase&>(*layer).geometry().axes.size());
  }
  KernelOptions how_;
};

TEST_F(CudnnConvolutionTest, MatchesReference) {
  for (const KernelCase& c : all_cases()) compare(c);
}

TEST_F(CudnnConvolutionTest, SixteenBits) {
  for (KernelCase c : all_cases()) {
    how_.dtype = DType::kBF16;
    compare(c, 4 * 0x1p-8);
    how_.dtype = DType::kF16;
    compare(c, 4 * 0x1p-11);
  }
}

TEST_F(CudnnConvolutionTest, WithRelu) {
  for (KernelCase c : blocked_convolution_cases()) {
    c.layers.push_back("type: 'ReLU'");
    compare(c);
    c.layers[1] = "type: 'ReLU' relu_param { negative_slope: 0.25 }";
    compare(c);
  }
}

/// Every way that is offered must compute the same, not only the one that is taken untried.
class TakeOption : public Tuner {
 public:
  explicit TakeOption(size_t option) : option_(option) {}
  int choose(const std::string&, const std::vector<std::string>& options,
             const std::function<void(int)>& run) override {
    most = std::max(most, options.size());
    for (size_t i = 0; i < options.size(); ++i) {
      try {
        run(static_cast<int>(i));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
      }
    }
    return static_cast<int>(std::min(option_, options.size() - 1));
  }
  size_t most = 0;

 private:
  size_t option_;
};

TEST_F(CudnnConvolutionTest, EveryOptionIsRight) {
  const KernelCase plain = convolution("num_output: 48 kernel_size: 3 pad: 1", {{4, 32, 14, 14}});
  const KernelCase with_relu{{plain.layers[0], "type: 'ReLU'"}, plain.bottoms};
  for (const KernelCase& c : {plain, with_relu}) {
    size_t most = 1;
    for (size_t option = 0; option < most; ++option) {
      TakeOption tuner(option);
      how_.tuner = &tuner;
      compare(c);
      most = tuner.most;
    }
    EXPECT_GT(most, 1u);
  }
}

TEST_F(CudnnConvolutionTest, DeterministicRunsRepeat) {
  const KernelCase what = convolution("num_output: 64 kernel_size: 3 pad: 1", {{16, 64, 28, 28}});
  const KernelInputs inputs = make_inputs(what);
  const MathScope rules({.tf32 = true, .deterministic = true});
  how_.backend = "cudnn";
  how_.dtype = DType::kF32;
  KernelHarness harness(what, how_);
  ASSERT_TRUE(harness.made()) << harness.why_not();
  Arrays first;
  for (int repeat = 0; repeat < 10; ++repeat) {
    harness.forward(inputs.bottoms, inputs.params);
    harness.backward(inputs.top_diffs);
    if (repeat == 0) first = harness.param_diffs();
    EXPECT_EQ(harness.param_diffs(), first) << repeat;
  }
}

/// Numbers that TF32 holds, and so do the sums of their products: a rounding would turn a ReLU on or off.
Array eighths(int index, const Shape& shape) {
  Array values(static_cast<size_t>(shape.count()));
  uint32_t state = static_cast<uint32_t>(index) + 1;
  for (double& value : values) value = static_cast<double>((state = state * 1664525 + 1013904223) >> 28) / 8 - 1;
  return values;
}

TEST_F(CudnnConvolutionTest, Tf32IsCloseToIt) {
  const MathScope rules({.tf32 = true});
  constexpr double kRounded = 4e-3;  // factors of 10 bits of mantissa
  for (KernelCase c : blocked_convolution_cases()) {
    compare(c, kRounded);
    c.layers.push_back("type: 'ReLU'");
    c.bottom_values = c.param_values = eighths;
    compare(c, kRounded);
  }
}

}  // namespace
}  // namespace robusta::test::convolution_cuda_test
