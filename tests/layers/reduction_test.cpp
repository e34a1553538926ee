// Reduction.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::reduction_test {
namespace {

KernelCase reduction(const std::string& param, const Shape& bottom) {
  return {{"type: 'Reduction' reduction_param { " + param + " }"}, {bottom}};
}

const char* const kOperations[] = {"SUM", "ASUM", "SUMSQ", "MEAN"};

std::vector<KernelCase> reductions() {
  std::vector<KernelCase> cases;
  for (const char* operation : kOperations) {
    const std::string op = std::string("operation: ") + operation;
    cases.push_back(reduction(op, {2, 3, 4, 5}));
    cases.push_back(reduction(op + " axis: 1 coeff: 0.7", {2, 3, 4, 5}));
    cases.push_back(reduction(op + " axis: -1 coeff: -2", {3, 4}));
    cases.push_back(reduction(op, {1}));
  }
  return cases;
}

Array reduced_by(const std::string& param) {
  KernelHarness harness(reduction(param, {2, 2}), {});
  harness.forward({{1, -2, 3, 5}});
  return harness.tops()[0];
}

TEST(ReductionTest, Sums) {
  EXPECT_EQ(reduced_by(""), Array{7});
  EXPECT_EQ(reduced_by("axis: 1"), (Array{-1, 8}));
  EXPECT_EQ(reduced_by("operation: ASUM axis: 1 coeff: 2"), (Array{6, 16}));
  EXPECT_EQ(reduced_by("operation: SUMSQ axis: 1"), (Array{5, 34}));
  EXPECT_EQ(reduced_by("operation: MEAN axis: 1 coeff: 3"), (Array{-1.5, 12}));
}

TEST(ReductionTest, ShapeIsThatOfTheAxesBefore) {
  EXPECT_EQ(KernelHarness(reduction("axis: 2", {2, 3, 4}), {}).top_shapes()[0], (Shape{2, 3}));
  EXPECT_EQ(KernelHarness(reduction("", {2, 3, 4}), {}).top_shapes()[0], Shape{});
}

TEST(ReductionTest, ZeroHasNoSign) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(reduction("operation: ASUM", {3}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{-1, 0, 1}});
    harness.backward({{2}});
    EXPECT_EQ(harness.bottom_diffs()[0], (Array{-2, 0, 2})) << backend;
  }
}

TEST(ReductionTest, Gradients) {
  for (const KernelCase& c : reductions()) check_gradients(c);
}

TEST(ReductionTest, SinglePrecision) {
  for (const KernelCase& c : reductions()) compare_with_reference("reference", c);
}

TEST(ReductionTest, Gpu) {
  for (const KernelCase& c : reductions()) compare_gpu_with_reference(c);
  // Parts of long rows, and rows enough without.
  compare_gpu_with_reference(reduction("operation: ASUM axis: 1", {3, 9001}));
  compare_gpu_with_reference(reduction("operation: SUMSQ axis: 1", {700, 33}));
}

TEST(ReductionTest, Errors) { expect_config_error(reduction("axis: 2", {2, 3}), "axis 2", "reduction_param.axis"); }

}  // namespace
}  // namespace robusta::test::reduction_test
