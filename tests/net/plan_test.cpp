// What the planner promises: sharing never changes a bit, fusing changes nothing but rounding, and no two living
// values overlap.

#include <gtest/gtest.h>

#include "net/net.h"
#include "net/report.h"
#include "support/close.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

std::vector<float> run_with(const NetOptions& options, const char* text = kBranchyNet) {
  Net net(net_def(text, options.phase), options);
  fill_inputs(net, 1);
  return run_once(net);
}

class Sharing : public testing::TestWithParam<const char*> {};

TEST_P(Sharing, DoesNotChangeABit) {
  NetOptions shared, apart;
  shared.kernels = apart.kernels = GetParam();
  apart.share_memory = false;
  EXPECT_EQ(run_with(shared), run_with(apart));
}

TEST_P(Sharing, KeepingBlobsDoesNotChangeABit) {
  NetOptions shared, kept;
  shared.kernels = kept.kernels = GetParam();
  shared.fuse = kept.fuse = false;
  kept.keep_blobs = true;
  EXPECT_EQ(run_with(shared), run_with(kept));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Sharing, testing::Values("reference", "native", "onednn", "auto"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Plan, TakesLessMemoryShared) {
  NetOptions shared, apart;
  apart.share_memory = false;
  Net a(net_def(kBranchyNet), shared), b(net_def(kBranchyNet), apart);
  EXPECT_LT(a.plan().arena_bytes, b.plan().arena_bytes * 3 / 4);
}

/// What kernels keep of a net of a convolution of 3x3 and a BatchNorm.
size_t kept_for_kernels(caffe::Phase phase, const std::string& kernels) {
  NetOptions options;
  options.phase = phase;
  options.kernels = kernels;
  const Net net(net_def(R"(
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 32 dim: 28 dim: 28 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 64 kernel_size: 3 pad: 1 bias_term: false } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "sum" type: "Reduction" bottom: "conv" top: "sum" loss_weight: 1 include { phase: TRAIN } })",
                        phase),
                options);
  const MemoryUse use = memory_use(net, {});
  EXPECT_EQ(use.total(), use.activations + use.params + use.kernels + use.gradients);
  return use.kernels;
}

TEST(Plan, CountsWeightsThatKernelsKeepInAnotherForm) {
  constexpr size_t kWeights = 64 * 32 * 9 * sizeof(float);
  // As the convolution wants them, in blocks or as Winograd transforms them to four times as many, and a bias.
  const size_t kept = kept_for_kernels(caffe::TEST, "auto");
  EXPECT_GE(kept, kWeights);
  EXPECT_LE(kept, 5 * kWeights);
  EXPECT_EQ(kept_for_kernels(caffe::TEST, "reference"), 0u);
  EXPECT_EQ(kept_for_kernels(caffe::TRAIN, "auto"), 0u);
}

TEST(Plan, FastKernelsAgreeWithTheReference) {
  NetOptions reference;
  reference.kernels = "reference";
  expect_close(run_with({}), run_with(reference), 2e-5);
}

TEST(Plan, FusingAgreesWithSingleLayers) {
  NetOptions single;
  single.fuse = false;
  expect_close(run_with({}), run_with(single), 2e-5);
}

TEST(Plan, InferenceAgreesWithTheReference) {
  NetOptions fast, reference;
  fast.phase = reference.phase = caffe::TEST;
  fast.backward = reference.backward = false;
  reference.kernels = "reference";
  expect_close(run_with(fast), run_with(reference), 2e-5);
}

TEST(Plan, F64RunsOnTheReferenceKernels) {
  NetOptions f64;
  f64.dtype = DType::kF64;
  NetOptions f32;
  f32.kernels = "reference";
  expect_close(run_with(f32), run_with(f64), 1e-5);
}

TEST(Plan, LivingValuesNeverOverlap) {
  Net net(net_def(kBranchyNet), {});
  const Plan& plan = net.plan();
  struct Life {
    StepId first, last;
    size_t begin, end;
  };
  std::map<ValueId, Life> lives;
  for (const Value& v : plan.values) {
    if (!v.first || v.persistent) continue;
    auto [at, fresh] = lives.try_emplace(v.storage, Life{v.first, v.last, v.offset, v.offset + v.bytes});
    if (fresh) continue;
    at->second.first = std::min(at->second.first, v.first);
    at->second.last = std::max(at->second.last, v.last);
    at->second.end = std::max(at->second.end, v.offset + v.bytes);
  }
  for (const auto& [i, a] : lives) {
    EXPECT_LE(a.end, plan.arena_bytes);
    for (const auto& [j, b] : lives) {
      if (i >= j) continue;
      const bool meet = a.first <= b.last && b.first <= a.last, overlap = a.begin < b.end && b.begin < a.end;
      EXPECT_FALSE(meet && overlap) << plan.values[i].label << " and " << plan.values[j].label;
    }
  }
}

TEST(Plan, EveryGradientIsReadyOnceAndInCompletionOrder) {
  struct Collect : GradientSink {
    std::vector<Param*> seen;
    void ready(Param& param) override { seen.push_back(&param); }
  } sink;
  Net net(net_def(kBranchyNet), {});
  fill_inputs(net, 1);
  const Pass pass{.batch = net.batch()};
  net.forward(pass);
  net.backward(pass, false, &sink);
  size_t learning = 0;
  for (const ParamPtr& param : net.params()) learning += param->learns;
  ASSERT_EQ(sink.seen.size(), learning);
  for (size_t i = 0; i < learning; ++i) EXPECT_EQ(sink.seen[i], net.param_memory().completion()[i]);
  EXPECT_EQ(sink.seen.front()->layer, "fc");
  EXPECT_EQ(sink.seen.back()->layer, "c0");
}

TEST(Plan, AccumulatesOverPasses) {
  Net net(net_def(kBranchyNet), {});
  fill_inputs(net, 1);
  const Pass pass{.batch = net.batch()};
  net.forward(pass);
  net.backward(pass, false);
  const Param& weights = *net.layer_params("c1")[0];
  const std::vector<float> once = net.blobs().read_param_diff(weights);
  net.forward(pass);
  net.backward(pass, true);
  std::vector<float> doubled = once;
  for (float& x : doubled) x *= 2;
  expect_close(net.blobs().read_param_diff(weights), doubled, 1e-6);
  net.forward(pass);
  net.backward(pass, false);
  EXPECT_EQ(net.blobs().read_param_diff(weights), once);
}

}  // namespace
}  // namespace robusta::test
