// InnerProduct by matrix units against the reference.

#include <gtest/gtest.h>

#include "base/str.h"
#include "ops/amx/tile_products.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::inner_product_amx_test {
namespace {

KernelCase inner_product(const std::string& fields, const Shape& bottom) {
  return {{str("type: 'InnerProduct' inner_product_param { ", fields, " }")}, {bottom}};
}

class InnerProductAmx : public testing::Test {
 protected:
  void SetUp() override {
    if (!amx::is_there()) GTEST_SKIP() << "this processor has no matrix units (AMX)";
  }
  static void compare(const KernelCase& what, Tuner* tuner = nullptr) {
    compare_with_reference("amx", what, 4 * 0x1p-8, {.dtype = DType::kBF16, .tuner = tuner});
  }
};

TEST_F(InnerProductAmx, SizesOfAllKinds) {
  compare(inner_product("num_output: 32", {32, 64}));
  compare(inner_product("num_output: 3", {4, 2, 3, 2}));
  compare(inner_product("num_output: 1", {1, 1}));
  compare(inner_product("num_output: 37 bias_term: false", {19, 53}));
  compare(inner_product("num_output: 16 axis: 2", {3, 7, 48}));
}

/// More than are multiplied at a time: rows; inputs; outputs.
TEST_F(InnerProductAmx, SeveralPieces) {
  compare(inner_product("num_output: 5", {531, 8}));
  compare(inner_product("num_output: 5", {3, 1100}));
  compare(inner_product("num_output: 301", {2, 300}));
}

TEST_F(InnerProductAmx, TheTunerHasItsSay) {
  const KernelCase what = inner_product("num_output: 320", {32, 256});
  Prefer narrow("bf16"), wide("f32");
  compare(what, &narrow);
  EXPECT_GT(narrow.taken, 0);
  const KernelHarness harness(what, {.backend = "amx", .dtype = DType::kBF16, .tuner = &wide});
  EXPECT_NE(harness.why_not().find("faster in f32"), std::string::npos) << harness.why_not();
}

TEST(InnerProductWithoutAmx, Declines) {
  const auto why_not = [](const std::string& fields, DType type) {
    return KernelHarness(inner_product(fields, {4, 5}), {.backend = "amx", .dtype = type}).why_not();
  };
  EXPECT_EQ(why_not("num_output: 3", DType::kF32), "computes in bf16");
  EXPECT_EQ(why_not("num_output: 3 transpose: true", DType::kBF16),
            amx::is_there() ? "takes weights as [outputs, inputs]" : "this processor has no matrix units (AMX)");
}

}  // namespace
}  // namespace robusta::test::inner_product_amx_test
