// The stacks of OpenMP's threads, as OMP_STACKSIZE says them.
#include "device/cpu/openmp_threads.h"

#include <gtest/gtest.h>

#include <limits>

namespace robusta::test::openmp_threads_test {
namespace {

TEST(OpenmpThreadsTest, StacksHaveUnits) {
  EXPECT_EQ(openmp_stack_bytes("512"), 512u << 10);
  EXPECT_EQ(openmp_stack_bytes("512B"), 512u);
  EXPECT_EQ(openmp_stack_bytes("512k"), 512u << 10);
  EXPECT_EQ(openmp_stack_bytes("16M"), 16u << 20);
  EXPECT_EQ(openmp_stack_bytes("2g"), size_t{2} << 30);
  EXPECT_EQ(openmp_stack_bytes("18446744073709551615G"), std::numeric_limits<size_t>::max());
}

TEST(OpenmpThreadsTest, WhatIsNoSizeIsTheSystems) {
  const size_t usual = openmp_stack_bytes(nullptr);
  EXPECT_GE(usual, size_t{1} << 16);
  for (const char* none : {"", "M", "-1M", "16MB", "16X", "much"}) EXPECT_EQ(openmp_stack_bytes(none), usual) << none;
}

}  // namespace
}  // namespace robusta::test::openmp_threads_test
