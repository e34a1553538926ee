// Functions of one element: what all of them fulfil, and the ends of the fast ones.

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "base/str.h"
#include "support/blocked.h"

namespace robusta::test::activations_test {
namespace {

/// A layer's text, whether its native kernel keeps zeros zero, and what its arguments are.
struct Function {
  std::string layer;
  bool keeps_zero = true;
  double spread = 1;  ///< of the arguments around 0

  KernelCase on(const Shape& shape) const {
    KernelCase what{{layer}, {shape}};
    if (spread == 1) return what;
    what.bottom_values = [spread = spread](int, const Shape& bottom) {
      Array values = make_inputs({{"type: 'AbsVal'"}, {bottom}}).bottoms[0];
      for (double& value : values) value = static_cast<float>(spread * value);
      return values;
    };
    return what;
  }
};

const Function kFunctions[] = {
    {"type: 'ReLU'"},
    {"type: 'ReLU' relu_param { negative_slope: 0.1 }"},
    {"type: 'ReLU' relu_param { negative_slope: -0.5 }"},
    {"type: 'Sigmoid'", false},
    {"type: 'TanH'"},
    {"type: 'AbsVal'"},
    {"type: 'ELU'"},
    {"type: 'ELU' elu_param { alpha: 0.3 }"},
    {"type: 'ELU' elu_param { alpha: 1.67326324 lambda: 1.05070098 }"},
    {"type: 'ELU' elu_param { alpha: -0.4 }"},
    {"type: 'Power'"},
    {"type: 'Power' power_param { scale: 2.5 shift: -1 }", false},
    {"type: 'Power' power_param { power: 2 scale: 0.5 }"},
    {"type: 'Power' power_param { power: 2 scale: 0.5 shift: 1 }", false},
    {"type: 'Power' power_param { scale: 0 shift: 3 }", false},
    {"type: 'Power' power_param { power: 3 shift: 0.1 }", false},
    {"type: 'Power' power_param { power: 3 }"},
    {"type: 'Power' power_param { power: 0 scale: 2 shift: 1 }", false},
    {"type: 'Power' power_param { power: -1.5 scale: 0.5 shift: 6 }", false},
    {"type: 'Power' power_param { power: 0.25 scale: -0.5 shift: 6 }", false},
    {"type: 'BNLL'", false},
    {"type: 'BNLL'", false, 20},
    {"type: 'Clip' clip_param { min: -0.5 max: 0.8 }"},
    {"type: 'Clip' clip_param { min: 0.1 max: inf }", false},
    {"type: 'Exp'", false},
    {"type: 'Exp' exp_param { base: 3 scale: -0.5 shift: 1.5 }", false},
    {"type: 'Log' log_param { shift: 6 }", false},
    {"type: 'Log' log_param { base: 10 scale: 0.5 shift: 6 }", false},
    {"type: 'Swish'"},
    {"type: 'Swish' swish_param { beta: -0.5 }", true, 5},
    {"type: 'ReLU6'", true, 5},
    {"type: 'HardSwish'", true, 3},
};

TEST(ActivationsTest, Gradients) {
  for (const Function& f : kFunctions) check_gradients(f.on({2, 3, 4}));
}

TEST(ActivationsTest, SinglePrecision) {
  for (const Function& f : kFunctions) compare_with_reference("reference", f.on({2, 3, 5}));
}

TEST(ActivationsTest, NativeAgreesOverManySizes) {
  for (const Function& f : kFunctions) {
    for (const Shape& shape : {Shape{1}, Shape{15}, Shape{2, 3, 4}, Shape{17, 1, 33}, Shape{3, 11003}}) {
      compare_with_reference("native", f.on(shape), 2e-6);
    }
  }
}

TEST(ActivationsTest, NativeTakesBlockedLayouts) {
  for (const Function& f : kFunctions) {
    const KernelCase full = f.on({2, 32, 3, 5}), padded = f.on({2, 20, 3, 5});
    compare_blocked("native", full, 2e-6);
    compare_blocked("native", padded, 2e-6);
    EXPECT_NE(layouts_taken("native", full)[0], nullptr) << f.layer;
    EXPECT_EQ(layouts_taken("native", padded)[0] != nullptr, f.keeps_zero) << f.layer;
  }
}

TEST(ActivationsTest, Gpu) {
  for (const Function& f : kFunctions) {
    for (const Shape& shape : {Shape{1}, Shape{2, 3, 4}, Shape{2, 20, 3, 5}, Shape{3, 11003}}) {
      compare_gpu_with_reference(f.on(shape), 2e-6);
    }
  }
}

TEST(ActivationsTest, NativeDeclinesDoubles) {
  const KernelHarness harness({{"type: 'TanH'"}, {{4}}}, {.backend = "native", .dtype = DType::kF64});
  EXPECT_FALSE(harness.made());
  EXPECT_NE(harness.why_not().find("f32"), std::string::npos);
}

TEST(ActivationsTest, FastKernelsKeepExtremesAndNaN) {
  const double inf = INFINITY, nan = NAN;
  const Array x{-inf, -1e30, -100, -1e-20, 0, 1e-20, 100, 1e30, inf, nan};
  for (const char* type :
       {"type: 'Sigmoid'", "type: 'TanH'", "type: 'ELU'", "type: 'ReLU'", "type: 'BNLL'", "type: 'Exp'", "type: 'Log'",
        "type: 'Swish'", "type: 'ReLU6'", "type: 'HardSwish'", "type: 'Clip' clip_param { min: -1 max: 1e20 }",
        "type: 'Threshold'", "type: 'Power' power_param { power: -3 }", "type: 'Power' power_param { power: 0.5 }"}) {
    const KernelCase what{{type}, {{static_cast<int64_t>(x.size())}}};
    KernelHarness reference(what, {.backward = false});
    reference.forward({x});
    for (const char* backend : {"native", "gpu"}) {
      KernelHarness fast(what, {.backend = backend, .dtype = DType::kF32, .backward = false});
      fast.forward({x});
      for (size_t i = 0; i < x.size(); ++i) {
        SCOPED_TRACE(str(backend, ": ", type, " of ", x[i]));
        const double got = fast.tops()[0][i], exact = reference.tops()[0][i];
        const double want = std::abs(exact) > FLT_MAX ? std::copysign(inf, exact) : exact;
        if (std::isnan(want) || std::isinf(want)) {
          EXPECT_EQ(std::isnan(got), std::isnan(want)) << got;
          EXPECT_EQ(got == want, std::isinf(want)) << got;
        } else {
          EXPECT_NEAR(got, want, 4e-7 * std::abs(want) + 1e-37);
        }
      }
    }
  }
}

TEST(PowerTest, GradientIsDefinedAtZero) {
  // y / x would be 0 / 0.
  KernelHarness cube({{"type: 'Power' power_param { power: 3 }"}, {{2}}}, {});
  cube.forward({{0, 2}});
  cube.backward({{1, 1}});
  EXPECT_EQ(cube.bottom_diffs()[0], (Array{0, 12}));
}

}  // namespace
}  // namespace robusta::test::activations_test
