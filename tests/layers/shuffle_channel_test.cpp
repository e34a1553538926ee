// ShuffleChannel.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::shuffle_channel_test {
namespace {

KernelCase shuffle(const std::string& param, const Shape& bottom) {
  return {{"type: 'ShuffleChannel' shuffle_channel_param { " + param + " }"}, {bottom}};
}

const KernelCase kShuffles[] = {
    shuffle("group: 2", {2, 6, 3, 4}), shuffle("group: 3", {2, 6, 5}),     shuffle("", {2, 3, 4}),
    shuffle("group: 4", {3, 8}),       shuffle("group: 4", {2, 16, 2, 4}),
};

TEST(ShuffleChannelTest, TakesGroupsInTurn) {
  KernelHarness harness(shuffle("group: 2", {1, 6}), {});
  harness.forward({{0, 1, 2, 3, 4, 5}});
  EXPECT_EQ(harness.tops()[0], (Array{0, 3, 1, 4, 2, 5}));
}

TEST(ShuffleChannelTest, Gradients) {
  for (const KernelCase& c : kShuffles) check_gradients(c);
}

TEST(ShuffleChannelTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : kShuffles) compare_with_reference(backend, c);
  }
}

TEST(ShuffleChannelTest, Gpu) {
  for (const KernelCase& c : kShuffles) compare_gpu_with_reference(c);
}

TEST(ShuffleChannelTest, Errors) {
  const char* field = "shuffle_channel_param.group";
  expect_config_error(shuffle("group: 0", {2, 6, 3}), "group is 0", field);
  expect_config_error(shuffle("group: 4", {2, 6, 3}), "group 4 does not divide", field);
  expect_config_error(shuffle("group: 2", {6}), "group 2 does not divide", field);
}

}  // namespace
}  // namespace robusta::test::shuffle_channel_test
