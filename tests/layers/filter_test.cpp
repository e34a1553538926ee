// Filter. What the net makes of its shapes: tests/net/filter_test.cpp.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::filter_test {
namespace {

/// Selectors are the values of the last bottom.
KernelCase filter(std::vector<Shape> data, const Array& selectors, const Shape& shape) {
  KernelCase what{{"type: 'Filter'"}, data};
  what.bottoms.push_back(shape);
  what.tops = static_cast<int>(data.size());
  what.bottom_values = [last = data.size(), selectors](int bottom, const Shape&) {
    return static_cast<size_t>(bottom) == last ? selectors : Array{};
  };
  return what;
}

const KernelCase kFilters[] = {
    filter({{5, 3, 2}}, {1, 0, 1, 1, 0}, {5}),
    filter({{4, 3}, {4, 2, 2}}, {0, -2, 0, 0.5}, {4, 1, 1, 1}),
    filter({{3, 2}}, {1, 1, 1}, {3, 1}),
    filter({{3, 2}}, {0, 0, 7}, {3}),
    filter({{6}, {6, 16}}, {0, 1, 0, 1, 1, 0}, {6}),
};

TEST(FilterTest, BeforeTheFirstPassEverythingCounts) {
  KernelCase unknown = kFilters[0];
  unknown.bottom_values = nullptr;
  EXPECT_EQ(KernelHarness(unknown, {}).top_shapes()[0], (Shape{5, 3, 2}));
  EXPECT_EQ(KernelHarness(kFilters[0], {}).top_shapes()[0], (Shape{3, 3, 2}));
}

TEST(FilterTest, Gradients) {
  for (const KernelCase& c : kFilters) check_gradients(c);
}

TEST(FilterTest, SinglePrecision) {
  for (const KernelCase& c : kFilters) compare_with_reference("reference", c);
}

TEST(FilterTest, Gpu) {
  for (const KernelCase& c : kFilters) compare_gpu_with_reference(c);
}

TEST(FilterTest, NothingSelected) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(filter({{2, 3}}, {0, 0}, {2}), {.backend = backend, .dtype = DType::kF32});
    EXPECT_EQ(harness.top_shapes()[0], (Shape{0, 3}));
    harness.forward({Array(6, 1.0), {0, 0}});
    harness.backward({{}});
    EXPECT_EQ(harness.bottom_diffs()[0], Array(6, 0.0)) << backend;
    EXPECT_EQ(harness.damage(), "");
  }
}

TEST(FilterTest, ASelectorThatIsNoNumberEndsThePass) {
  const Error error = error_of([] { KernelHarness(filter({{3, 2}}, {1, std::nan(""), 0}, {3}), {}); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.cause(), "the selector of item 1 is nan");
}

TEST(FilterTest, Errors) {
  expect_config_error(filter({{2, 3}}, {}, {2, 2}), "the selector has shape 2 2", "bottom");
  expect_config_error(filter({{2, 3}}, {}, {3}), "bottom 0 has shape 2 3 (6), and there are 3 selectors", "bottom");
  KernelCase few = filter({{2, 3}, {2, 3}}, {}, {2});
  few.tops = 1;
  expect_config_error(few, "1 tops for 2 bottoms and a selector", "top");
}

}  // namespace
}  // namespace robusta::test::filter_test
