// The harness must find what it promises to find: each kernel here has one defect.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "layers/kit/chain.h"
#include "support/kernel_checks.h"

namespace robusta::test::kernel_harness_test {
namespace {

/// y = weight * x with one weight.
class TestingLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  std::vector<ParamDecl> params() const override { return {{Shape{}, nullptr}}; }
};

enum class Defect {
  kNone,
  kWrongTop,
  kWrongBottomGrad,
  kOverwritesGradient,
  kReadsScratch,
  kReadsUnsaved,
  kWritesOutside,
  kKeepsState
};

template <typename T, Defect defect>
class TestingKernel : public Kernel {
 public:
  explicit TestingKernel(const KernelRequest& request) {
    booking_.forward_scratch = sizeof(T);
    booking_.saved_bytes = sizeof(T);
    booking_.forward_aliases = {{0, 0, false}};
  }
  std::string describe() const override { return "testing"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *weight = run.params[0]->tensor().as<T>();
    T* y = run.tops[0].as<T>();
    T extra = defect == Defect::kReadsScratch ? *static_cast<T*>(run.scratch) : T{0};
    if (defect == Defect::kWrongTop) extra = T(1e-3);
    if (defect == Defect::kKeepsState) extra = static_cast<T>(runs_++);
    for (int64_t i = 0; i < run.tops[0].count(); ++i) y[i] = *weight * x[i] + extra;
    if (defect == Defect::kWritesOutside) y[run.tops[0].count()] = 0;
  }

  void backward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>(), *weight = run.params[0]->tensor().as<T>();
    T extra = defect == Defect::kReadsUnsaved ? *static_cast<T*>(run.saved) : T{0};
    if (defect == Defect::kWrongBottomGrad) extra = T(1e-3);
    T sum = run.params[0]->learns && run.accumulate[0] && defect != Defect::kOverwritesGradient
                ? *run.params[0]->gradient().template as<T>()
                : T{0};
    for (int64_t i = 0; i < run.top_diffs[0].count(); ++i) {
      sum += dy[i] * x[i];
      if (run.bottom_diffs[0]) run.bottom_diffs[0].as<T>()[i] = *weight * dy[i] + extra;
    }
    if (run.params[0]->learns) *run.params[0]->gradient().template as<T>() = sum;
  }

 private:
  int runs_ = 0;
};

template <Defect defect>
std::unique_ptr<Kernel> make_testing(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<TestingKernel<decltype(t), defect>>(request);
  });
}

std::unique_ptr<Kernel> make_declining(const KernelRequest&, std::string& why_not) {
  why_not = "does not feel like it";
  return nullptr;
}

ROBUSTA_REGISTER_LAYER("Testing", TestingLayer);

const bool registered =
    register_layer("TestingWrong",
                   [](const caffe::LayerParameter& param) -> std::unique_ptr<Layer> {
                     return std::make_unique<TestingLayer>(param);
                   }) &&
    register_kernel({"Testing", "reference", "cpu", 0, make_testing<Defect::kNone>}) &&
    register_kernel({"Testing", "good", "cpu", 1, make_testing<Defect::kNone>}) &&
    register_kernel({"Testing", "top", "cpu", 1, make_testing<Defect::kWrongTop>}) &&
    register_kernel({"Testing", "grad", "cpu", 1, make_testing<Defect::kWrongBottomGrad>}) &&
    register_kernel({"Testing", "add", "cpu", 1, make_testing<Defect::kOverwritesGradient>}) &&
    register_kernel({"Testing", "scratch", "cpu", 1, make_testing<Defect::kReadsScratch>}) &&
    register_kernel({"Testing", "saved", "cpu", 1, make_testing<Defect::kReadsUnsaved>}) &&
    register_kernel({"Testing", "outside", "cpu", 1, make_testing<Defect::kWritesOutside>}) &&
    register_kernel({"Testing", "state", "cpu", 1, make_testing<Defect::kKeepsState>}) &&
    register_kernel({"Testing", "declining", "cpu", 1, make_declining}) &&
    register_kernel({chain(of<TestingLayer>("Testing"), one<TestingLayer>()), "good", "cpu", 1, make_declining}) &&
    register_kernel({"TestingWrong", "reference", "cpu", 0, make_testing<Defect::kWrongBottomGrad>});

const KernelCase kCase = {{"type: 'Testing'"}, {{2, 3}}};

/// Runs `check` and returns all failures that it reports.
template <typename Check>
std::string failures_of(const Check& check) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check();
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
  return text;
}

std::string failures_of_backend(const std::string& backend) {
  return failures_of([&] { compare_with_reference(backend, kCase); });
}

TEST(KernelHarnessTest, PassesGoodKernels) {
  ASSERT_TRUE(registered);
  check_gradients(kCase);
  compare_with_reference("good", kCase);
  expect_declined("declining", kCase, "feel like");
}

TEST(KernelHarnessTest, FindsDefects) {
  const std::pair<const char*, const char*> expected[] = {
      {"top", "top 0"},     {"grad", "gradient of bottom 0"},       {"add", "gradient of parameter 0"},
      {"scratch", "top 0"}, {"saved", "gradient of bottom 0"},      {"outside", "write outside of top 0"},
      {"state", "top 0"},   {"declining", "does not feel like it"}, {"absent", "no candidate of backend absent"}};
  for (const auto& [backend, failure] : expected) {
    EXPECT_NE(failures_of_backend(backend).find(failure), std::string::npos) << backend << failures_of_backend(backend);
  }
}

TEST(KernelHarnessTest, FindsWrongGradients) {
  const std::string failures = failures_of([] { check_gradients({{"type: 'TestingWrong'"}, {{2, 3}}}); });
  EXPECT_NE(failures.find("gradient of bottom 0"), std::string::npos) << failures;
}

/// Two layers in a row: the reference is the chain of reference kernels, parameters of both in order.
TEST(KernelHarnessTest, ChainsReferences) {
  const KernelCase chain = {{"type: 'Testing'", "type: 'Testing'"}, {{2}}};
  const KernelOutputs out = run_reference(chain, {{{3, 4}}, {{2}, {10}}, {{1, 1}}});
  EXPECT_EQ(out.tops[0], (Array{60, 80}));
  EXPECT_EQ(out.bottom_diffs[0], (Array{20, 20}));
  EXPECT_EQ(out.param_diffs, (Arrays{{70}, {14}}));
  check_gradients(chain);
  expect_declined("good", chain, "feel like");
}

}  // namespace
}  // namespace robusta::test::kernel_harness_test
