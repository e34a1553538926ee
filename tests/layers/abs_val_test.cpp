#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test {
namespace {

const KernelCase kAbsVal{{"type: 'AbsVal'"}, {{2, 3, 4}}};

TEST(AbsValTest, Gradients) { check_gradients(kAbsVal); }
TEST(AbsValTest, SinglePrecision) { compare_with_reference("reference", kAbsVal); }
TEST(AbsValTest, Native) { compare_with_reference("native", kAbsVal); }
TEST(AbsValTest, Gpu) { compare_gpu_with_reference(kAbsVal); }

}  // namespace
}  // namespace robusta::test
