// InnerProduct by matrix units against the reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "base/str.h"
#include "base/streaming_stores.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/types/inner_product/amx_products.h"
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
  amx::PretendThereAreUnits pretend_;
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

/// A few multiplications are not timed: they follow their bottom.
TEST_F(InnerProductAmx, SmallOnesFollowTheirBottom) {
  Prefer tuner("bf16");
  const KernelCase what = inner_product("num_output: 3", {4, 5});
  EXPECT_TRUE(KernelHarness(what, {.backend = "amx", .dtype = DType::kBF16, .tuner = &tuner}).made());
  EXPECT_EQ(tuner.taken, 0);
}

/// More than are multiplied at a time: rows; inputs; outputs.
TEST_F(InnerProductAmx, SeveralPieces) {
  compare(inner_product("num_output: 5", {531, 8}));
  compare(inner_product("num_output: 5", {3, 1100}));
  compare(inner_product("num_output: 301", {2, 300}));
}

/// Numbers as bf16 has them.
std::vector<float> numbers(int64_t count, float seed) {
  std::vector<float> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = from_bf16(to_bf16(std::sin(seed + 0.7f * static_cast<float>(i))));
  return all;
}
std::vector<uint16_t> stored(const std::vector<float>& from) {
  std::vector<uint16_t> all;
  for (const float value : from) all.push_back(to_bf16(value));
  return all;
}

/// Products whose work is cut for more threads than there are, against sums in double: theirs in f32 are exact but for
/// their order.
TEST_F(InnerProductAmx, ManyWorkers) {
  for (const InnerProductSize size : {InnerProductSize{.rows = 37, .inputs = 130, .outputs = 75},
                                      InnerProductSize{.rows = 530, .inputs = 70, .outputs = 20},
                                      InnerProductSize{.rows = 3, .inputs = 600, .outputs = 300},
                                      // Several strips of inputs for one worker.
                                      InnerProductSize{.rows = 530, .inputs = 1100, .outputs = 20},
                                      InnerProductSize{.rows = 3, .inputs = 4200, .outputs = 150}}) {
    const int64_t rows = size.rows, inputs = size.inputs, outputs = size.outputs;
    const auto x = numbers(rows * inputs, 0.1f), dy = numbers(rows * outputs, 0.4f),
               w = numbers(outputs * inputs, 0.9f);
    const auto x16 = stored(x), dy16 = stored(dy);
    for (const int64_t workers : {1, 3, 8}) {
      const amx::ForwardProduct forward(size, workers);
      const amx::DataGradient data(size, workers);
      const amx::WeightGradient weights(size, workers);
      std::vector<char> scratch(std::max({forward.scratch_bytes(), data.scratch_bytes(), weights.scratch_bytes()}), 77);
      std::vector<uint16_t> y(static_cast<size_t>(rows * outputs)), dx(static_cast<size_t>(rows * inputs));
      std::vector<float> dw(w.size(), 2), db(static_cast<size_t>(outputs), 3);
      forward.run({x16.data(), w.data(), nullptr, nullptr, y.data(), scratch.data()});
      data.run({dy16.data(), w.data(), dx.data(), scratch.data()});
      weights.run({dy16.data(), x16.data(), true, dw.data(), scratch.data()});
      weights.run_bias(dy16.data(), true, db.data());
      const auto sum = [](int64_t count, const auto& term) {
        double all = 0;
        for (int64_t i = 0; i < count; ++i) all += static_cast<double>(term(static_cast<size_t>(i)));
        return all;
      };
      for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
        const size_t i0 = r * static_cast<size_t>(inputs), o0 = r * static_cast<size_t>(outputs);
        for (size_t o = 0; o < static_cast<size_t>(outputs); ++o) {
          const double want = sum(inputs, [&](size_t i) { return x[i0 + i] * w[o * static_cast<size_t>(inputs) + i]; });
          ASSERT_NEAR(from_bf16(y[o0 + o]), want, 1e-4 + 0x1p-8 * std::abs(want))
              << workers << " workers, " << r << " " << o;
        }
        for (size_t i = 0; i < static_cast<size_t>(inputs); ++i) {
          const double want =
              sum(outputs, [&](size_t o) { return dy[o0 + o] * w[o * static_cast<size_t>(inputs) + i]; });
          ASSERT_NEAR(from_bf16(dx[i0 + i]), want, 1e-4 + 0x1p-8 * std::abs(want))
              << workers << " workers, " << r << " " << i;
        }
      }
      for (size_t o = 0; o < static_cast<size_t>(outputs); ++o) {
        const auto gradient = [&](size_t r) { return dy[r * static_cast<size_t>(outputs) + o]; };
        EXPECT_NEAR(db[o], 3 + sum(rows, gradient), 1e-3);
        for (size_t i = 0; i < static_cast<size_t>(inputs); ++i) {
          const double want =
              2 + sum(rows, [&](size_t r) { return gradient(r) * x[r * static_cast<size_t>(inputs) + i]; });
          ASSERT_NEAR(dw[o * static_cast<size_t>(inputs) + i], want, 1e-3) << workers << " workers, " << o << " " << i;
        }
      }
    }
  }
}

/// Of a gradient that is written past the caches, to memory that is aligned for it or not: each of its panels.
TEST_F(InnerProductAmx, GradientsOfManyWeights) {
  const InnerProductSize size{.rows = 2, .inputs = 4112, .outputs = 2049};
  const auto inputs = static_cast<size_t>(size.inputs), count = inputs * static_cast<size_t>(size.outputs);
  const auto x = numbers(2 * size.inputs, 0.1f), dy = numbers(2 * size.outputs, 0.4f);
  const auto x16 = stored(x), dy16 = stored(dy);
  const amx::WeightGradient weights(size, 3);
  std::vector<char> scratch(weights.scratch_bytes());
  const onednn::AlignedMemory memory((count + 1) * sizeof(float));
  for (const size_t from : {size_t{0}, size_t{1}}) {
    float* const dw = memory.floats() + from;
    EXPECT_EQ(goes_past_caches(dw, size.outputs, size.inputs), from == 0);
    std::fill_n(dw, count, 7.0f);
    weights.run({dy16.data(), x16.data(), false, dw, scratch.data()});
    double most = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t o = i / inputs, outputs = static_cast<size_t>(size.outputs);
      const float want = dy[o] * x[i % inputs] + dy[outputs + o] * x[inputs + i % inputs];
      most = std::max(most, std::abs(static_cast<double>(dw[i] - want)));
    }
    EXPECT_LT(most, 1e-6);
  }
}

/// What is kept of weights for nets that do not learn is made anew of others.
TEST_F(InnerProductAmx, KeptWeightsFollowTheWeights) {
  const KernelCase what = inner_product("num_output: 3 bias_term: false", {2, 5});
  KernelHarness harness(what, {.backend = "amx", .dtype = DType::kBF16, .backward = false});
  ASSERT_TRUE(harness.made());
  EXPECT_GT(harness.kernel().booking().kept_bytes, 0u);
  for (const double weight : {1.0, 2.0, -0.5}) {
    harness.forward({Array(10, 1.0)}, {Array(15, weight)});
    EXPECT_EQ(harness.tops()[0], Array(6, 5 * weight));
  }
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
