// Reorg.

#include <gtest/gtest.h>

#include <numeric>

#include "support/kernel_checks.h"

namespace robusta::test::reorg_test {
namespace {

KernelCase reorg(const std::string& param, const Shape& bottom) {
  return {{"type: 'Reorg' reorg_param { " + param + " }"}, {bottom}};
}

const KernelCase kReorgs[] = {
    reorg("stride: 2", {2, 4, 4, 6}),
    reorg("stride: 2 reverse: true", {2, 8, 3, 2}),
    reorg("stride: 3", {1, 9, 3, 6}),
    reorg("stride: 3 reverse: true", {1, 18, 2, 3}),
    reorg("stride: 2 reverse: true by_channel: true", {2, 8, 3, 2}),
    reorg("stride: 1", {2, 3, 4, 5}),
    reorg("stride: 2", {1, 8, 4, 4}),
};

Array moved(const KernelCase& what) {
  KernelHarness harness(what, {});
  Array x(static_cast<size_t>(what.bottoms[0].count()));
  std::iota(x.begin(), x.end(), 0.0);
  harness.forward({x});
  return harness.tops()[0];
}

TEST(ReorgTest, ReverseIsDepthToSpace) {
  // Two channels of 1 x 2 pixels: channel (i * 2 + j) * 2 + c goes to row i, column j of the squares of channel c.
  EXPECT_EQ(moved(reorg("stride: 2 reverse: true", {1, 8, 1, 2})),
            (Array{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}));
}

TEST(ReorgTest, ByChannelIsPixelShuffle) {
  // Two channels of 1 x 2 pixels: channel (c * 2 + i) * 2 + j goes to row i, column j of the squares of channel c.
  EXPECT_EQ(moved(reorg("stride: 2 reverse: true by_channel: true", {1, 8, 1, 2})),
            (Array{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}));
}

/// By Darknet's loops: what `reverse` would do with the bottom's shape, undone.
TEST(ReorgTest, ForwardIsDarknets) {
  const Shape bottom{2, 8, 4, 2};
  EXPECT_EQ(KernelHarness(reorg("stride: 2", bottom), {}).top_shapes()[0], (Shape{2, 32, 2, 1}));
  const Array there = moved(reorg("stride: 2", bottom)), back = moved(reorg("stride: 2 reverse: true", bottom));
  ASSERT_EQ(there.size(), back.size());
  for (size_t i = 0; i < there.size(); ++i) EXPECT_EQ(there[static_cast<size_t>(back[i])], static_cast<double>(i));
}

TEST(ReorgTest, Gradients) {
  for (const KernelCase& c : kReorgs) check_gradients(c);
}

TEST(ReorgTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : kReorgs) compare_with_reference(backend, c);
  }
}

TEST(ReorgTest, Gpu) {
  for (const KernelCase& c : kReorgs) compare_gpu_with_reference(c);
}

TEST(ReorgTest, Errors) {
  expect_config_error(reorg("", {1, 4, 4, 4}), "no stride", "reorg_param.stride");
  expect_config_error(reorg("stride: 0", {1, 4, 4, 4}), "stride is 0", "reorg_param.stride");
  expect_config_error(reorg("stride: 2", {1, 6, 4, 4}), "6 channels are no multiple of 4", "reorg_param.stride");
  expect_config_error(reorg("stride: 2", {1, 4, 3, 4}), "3 rows", "reorg_param.stride");
  expect_config_error(reorg("stride: 2", {1, 4, 4, 5}), "5 columns", "reorg_param.stride");
  expect_config_error(reorg("stride: 4294967295", {1, 4, 4, 4}), "4 channels", "reorg_param.stride");
  expect_config_error(reorg("stride: 2 by_channel: true", {1, 4, 4, 4}), "without reverse", "reorg_param.by_channel");
  expect_config_error(reorg("stride: 2", {1, 4, 4}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::reorg_test
