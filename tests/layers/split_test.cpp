#include <gtest/gtest.h>

#include "support/blocked.h"

namespace robusta::test::split_test {
namespace {

KernelCase split(const Shape& shape, int tops) {
  KernelCase what{{"type: 'Split'"}, {shape}};
  what.tops = tops;
  return what;
}

TEST(SplitTest, Gradients) {
  for (int tops : {1, 2, 3, 5}) check_gradients(split({2, 3, 4}, tops));
}

TEST(SplitTest, KernelsAgree) {
  for (int tops : {1, 2, 3, 5}) {
    for (const Shape& shape : {Shape{1}, Shape{3, 5}, Shape{3, 11003}}) {
      compare_with_reference("reference", split(shape, tops), 1e-6);
      compare_with_reference("native", split(shape, tops), 1e-6);
    }
    compare_blocked("native", split({2, 20, 3, 5}, tops), 1e-6);
  }
}

TEST(SplitTest, Gpu) {
  for (int tops : {1, 2, 3, 5, 17}) {
    for (const Shape& shape : {Shape{1}, Shape{2, 20, 3, 5}, Shape{3, 11003}}) {
      compare_gpu_with_reference(split(shape, tops), 1e-6);
    }
  }
}

TEST(SplitTest, MissingGradientsAreZero) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    for (bool share : {false, true}) {
      KernelHarness harness(split({2}, 3), {.backend = backend, .dtype = DType::kF32, .share_memory = share});
      const auto gradient = [&](const Arrays& top_diffs) {
        harness.forward({{1, 2}});
        harness.backward(top_diffs);
        return harness.bottom_diffs()[0];
      };
      if (!share) {
        EXPECT_EQ(gradient({{}, {}, {}}), (Array{0, 0})) << backend;
      }
      EXPECT_EQ(gradient({{1, 2}, {}, {10, 20}}), (Array{11, 22})) << backend;
      EXPECT_EQ(gradient({{}, {3, 4}, {10, 20}}), (Array{13, 24})) << backend;
      EXPECT_EQ(gradient({{}, {}, {10, 20}}), (Array{10, 20})) << backend;
    }
  }
}

}  // namespace
}  // namespace robusta::test::split_test
