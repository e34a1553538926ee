#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::relu_test {
namespace {

const KernelCase kCases[] = {
    {{"type: 'ReLU'"}, {{2, 3, 4}}},
    {{"type: 'ReLU' relu_param { negative_slope: 0.1 }"}, {{5, 7}}},
    {{"type: 'ReLU' relu_param { negative_slope: -0.5 }"}, {{5, 7}}},
};

TEST(ReluTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(ReluTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(ReluTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

}  // namespace
}  // namespace robusta::test::relu_test
