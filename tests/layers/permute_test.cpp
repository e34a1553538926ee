// Permute.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"
#include "tensor/channels_last.h"

namespace robusta::test::permute_test {
namespace {

KernelCase permute(const std::vector<int>& order, const Shape& bottom) {
  std::string param;
  for (const int axis : order) param += " order: " + std::to_string(axis);
  return {{"type: 'Permute' permute_param {" + param + " }"}, {bottom}};
}

const KernelCase kPermutes[] = {
    permute({0, 2, 3, 1}, {2, 3, 4, 5}),
    permute({0, 3, 1, 2}, {2, 4, 5, 3}),
    permute({3, 2, 1, 0}, {2, 3, 4, 5}),
    permute({2}, {2, 3, 4}),
    permute({}, {2, 3}),
    permute({1, 0}, {3, 4}),
    permute({0, 2, 1}, {2, 1, 4}),
    permute({4, 1, 3}, {2, 3, 1, 4, 2}),
    permute({0, 2, 3, 1}, {2, 16, 4, 6}),
};

TEST(PermuteTest, AxesThatAreNotNamedFollow) {
  KernelHarness harness(permute({2}, {1, 2, 3}), {});
  EXPECT_EQ(harness.top_shapes()[0], (Shape{3, 1, 2}));
  harness.forward({{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 4, 2, 5, 3, 6}));
}

TEST(PermuteTest, Gradients) {
  for (const KernelCase& c : kPermutes) check_gradients(c);
}

TEST(PermuteTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : kPermutes) compare_with_reference(backend, c);
    compare_with_reference(backend, permute({0, 2, 3, 1}, {3, 67, 13, 21}));
    compare_with_reference(backend, permute({0, 3, 1, 2}, {3, 13, 21, 67}));
  }
}

TEST(PermuteTest, Gpu) {
  for (const KernelCase& c : kPermutes) compare_gpu_with_reference(c);
}

/// Channels last, what a detector asks for lies there already.
TEST(PermuteTest, ToTheOrderOfMemoryCostsNothing) {
  KernelOptions how{.backend = "gpu", .dtype = DType::kF32};
  how.bottom_layouts = {channels_last({{2, 3, 4, 5}, DType::kF32, nullptr})};
  KernelHarness harness(permute({0, 2, 3, 1}, {2, 3, 4, 5}), how);
  const std::vector<Alias>& aliases = harness.kernel().booking().forward_aliases;
  ASSERT_EQ(aliases.size(), 1u);
  EXPECT_FALSE(aliases[0].same_content) << "the same bytes, but other axes";
}

TEST(PermuteTest, Errors) {
  expect_config_error(permute({0, 3}, {2, 3, 4}), "axis 3 does not exist", "permute_param.order");
  expect_config_error(permute({0, 2, 0}, {2, 3, 4}), "axis 0 is named twice", "permute_param.order");
  expect_config_error({{"type: 'Permute' permute_param { order: 4294967295 }"}, {{2, 3}}}, "axis 4294967295",
                      "permute_param.order");
}

}  // namespace
}  // namespace robusta::test::permute_test
