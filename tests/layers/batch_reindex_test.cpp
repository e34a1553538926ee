// BatchReindex.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::batch_reindex_test {
namespace {

KernelCase reindex(const Shape& items, const Array& list) {
  KernelCase what{{"type: 'BatchReindex'"}, {items, {static_cast<int64_t>(list.size())}}};
  what.bottom_values = [list](int bottom, const Shape&) { return bottom == 1 ? list : Array{}; };
  return what;
}

const KernelCase kReindexes[] = {
    reindex({4, 3, 2}, {2, 0, 3, 1}), reindex({2, 2, 2, 2}, {0, 1, 0, 1, 1, 1}), reindex({5, 3}, {4, 4}),
    reindex({3}, {0, 2, 2, 0}),       reindex({3, 20000}, {1, 1, 0, 1}),
};

TEST(BatchReindexTest, Gradients) {
  for (const KernelCase& c : kReindexes) {
    if (c.bottoms[0].count() < 1000) check_gradients(c);
  }
}

TEST(BatchReindexTest, SinglePrecision) {
  for (const KernelCase& c : kReindexes) compare_with_reference("reference", c);
}

TEST(BatchReindexTest, Gpu) {
  for (const KernelCase& c : kReindexes) compare_gpu_with_reference(c);
}

TEST(BatchReindexTest, IndexOutOfRange) {
  for (const char* backend : {"reference", "gpu"}) {
    for (const double bad : {3.0, -1.0, 1e30, std::nan("")}) {
      KernelHarness harness(reindex({3, 2}, {0, bad, 7}), {.backend = backend, .dtype = DType::kF32});
      const Error error = error_of([&] { harness.forward({Array(6, 1.0), {0, bad, 7}}); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), " at place 1 is out of range 0..2")) << backend;
      EXPECT_TRUE(contains(error.fix(), "correct what makes bottom 1")) << backend;
    }
  }
}

TEST(BatchReindexTest, Errors) {
  expect_config_error({{"type: 'BatchReindex'"}, {{3, 2}, {2, 1}}}, "bottom 1 has shape 2 1", "bottom");
}

}  // namespace
}  // namespace robusta::test::batch_reindex_test
