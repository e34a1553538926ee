#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/simd.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::inner_product_test {
namespace {

KernelCase inner_product(const std::string& fields, std::vector<Shape> bottoms) {
  return {{"type: 'InnerProduct' inner_product_param { " + fields + " }"}, bottoms};
}

const std::vector<KernelCase> kCases = {
    inner_product("num_output: 3", {{4, 5}}),
    inner_product("num_output: 3", {{4, 2, 3, 2}}),
    inner_product("num_output: 3 bias_term: false", {{4, 5}}),
    inner_product("num_output: 3 transpose: true", {{4, 5}}),
    inner_product("num_output: 3 transpose: true bias_term: false axis: 2", {{2, 3, 4, 2}}),
    inner_product("num_output: 3 axis: 0", {{4, 5}}),
    inner_product("num_output: 3 axis: -1", {{2, 3, 4}}),
    inner_product("num_output: 1", {{1, 1}}),
    inner_product("num_output: 37", {{19, 53}}),
};

TEST(InnerProductTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(InnerProductTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(InnerProductTest, Native) {
  for (const KernelCase& c : kCases) compare_with_reference("native", c);
}

/// By this way where it is offered: for so many of the three products.
void multiply_by(const std::string& way, const KernelCase& what, int products) {
  Prefer tuner(way);
  KernelHarness harness(what, {.backend = "native", .dtype = DType::kF32, .tuner = &tuner});
  EXPECT_EQ(tuner.taken, products) << way;
  compare_with_reference("native", what, 2e-5, {.tuner = &tuner});
}

TEST(InnerProductTest, EveryWayToMultiply) {
  // Large enough to be timed.
  const KernelCase plain = inner_product("num_output: 301", {{16, 500}});
  const KernelCase transposed = inner_product("num_output: 301 transpose: true", {{16, 500}});
  for (const auto& [way, steps, steps_transposed] :
       {std::tuple("onednn", 3, 3), std::tuple("blas", 3, 3), std::tuple("columns", 1, 0)}) {
    multiply_by(way, plain, steps);
    multiply_by(way, transposed, steps_transposed);
  }
}

TEST(InnerProductTest, GradientsOfManyWeights) {
  if (vector_lanes() == 0) GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, where they are the libraries'";
  multiply_by("rows", inner_product("num_output: 1031", {{5, 1024}}), 2);
  multiply_by("rows", inner_product("num_output: 1031 transpose: true", {{5, 1024}}), 1);
}

/// Notes which options it is given for each key, and takes the last one without a trial.
class Asked : public Tuner {
 public:
  int choose(const std::string& key, const std::vector<std::string>& options,
             const std::function<void(int)>&) override {
    options_of[key].insert(options);
    return static_cast<int>(options.size()) - 1;
  }
  std::map<std::string, std::set<std::vector<std::string>>> options_of;
};

TEST(InnerProductTest, AKeyHasOneListOfOptions) {
  // The gradient of the second one's bottom is a product of the shape that the first one's top is, and has fewer ways.
  for (const auto& [inputs, outputs] : {std::pair(500, 301), std::pair(1024, 1030)}) {
    Asked tuner;
    const KernelHarness forth(inner_product("num_output: " + std::to_string(outputs), {{16, inputs}}),
                              {.backend = "native", .dtype = DType::kF32, .tuner = &tuner});
    const KernelHarness back(
        inner_product("num_output: " + std::to_string(inputs) + " transpose: true", {{16, outputs}}),
        {.backend = "native", .dtype = DType::kF32, .tuner = &tuner});
    EXPECT_EQ(tuner.options_of.size(), 5u);  // their gradients of weights are one product
    for (const auto& [key, lists] : tuner.options_of) EXPECT_EQ(lists.size(), 1u) << key;
  }
}

TEST(InnerProductTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

/// Weights of rows with other lengths than 1, which a test pass leaves as they are.
KernelCase normalized(const std::string& fields, std::vector<Shape> bottoms) {
  KernelCase what = inner_product("normalize: true " + fields, bottoms);
  what.phase = caffe::TEST;
  return what;
}
const std::vector<KernelCase> kNormalized = {
    normalized("num_output: 3", {{4, 5}}),
    normalized("num_output: 3 bias_term: false axis: 2", {{2, 3, 4, 2}}),
    normalized("num_output: 37", {{19, 53}}),
    normalized("num_output: 2", {{3, 300}}),
};

TEST(InnerProductTest, GradientsGoThroughTheNormalization) {
  for (const KernelCase& c : kNormalized) check_gradients(c);
}

TEST(InnerProductTest, KernelsOfNormalizedRowsAgree) {
  for (KernelCase c : kNormalized) {
    for (const caffe::Phase phase : {caffe::TEST, caffe::TRAIN}) {
      c.phase = phase;
      compare_with_reference("reference", c);
      compare_gpu_with_reference(c);
    }
  }
}

TEST(InnerProductTest, NormalizedRowsAreWrittenBackByTraining) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelCase what = normalized("num_output: 3 bias_term: false", {{1, 2}});
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
      what.phase = phase;
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2}}, {{3, 4, 0, 0, 0, -2}});
      expect_near(harness.tops()[0], {2.2, 0, -2}, 1e-6, backend);
      expect_near(harness.params()[0], phase == caffe::TRAIN ? Array{0.6, 0.8, 0, 0, 0, -1} : Array{3, 4, 0, 0, 0, -2},
                  1e-6, backend);
      harness.backward({{1, 1, 1}});
      // (1, 2) without what lies along (0.6, 0.8); a row of zeros can leave zero.
      const double length = phase == caffe::TRAIN ? 1 : 5, last = phase == caffe::TRAIN ? 1 : 2;
      expect_near(harness.param_diffs()[0], {-0.32 / length, 0.24 / length, 1, 2, 1 / last, 0}, 1e-6, backend);
    }
  }
}

TEST(InnerProductTest, RowsWhoseSquaresAreBeyondFloatHaveLengths) {
  for (const char* backend : {"reference", "gpu"}) {
    const KernelCase what = normalized("num_output: 2 bias_term: false", {{1, 2}});
    KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, 1}}, {{3e-25, 4e-25, 3e25, -4e25}});
    expect_near(harness.tops()[0], {1.4, -0.2}, 1e-6, backend);
  }
}

TEST(InnerProductTest, RefusesBadFields) {
  expect_config_error(inner_product("num_output: 2 normalize: true transpose: true", {{4, 5}}), "those of an output",
                      "inner_product_param.normalize");
  expect_config_error(inner_product("axis: 1", {{4, 5}}), "no num_output", "inner_product_param.num_output");
  expect_config_error(inner_product("num_output: 0", {{4, 5}}), "num_output is 0", "inner_product_param.num_output");
  expect_config_error(inner_product("num_output: 2 axis: 2", {{4, 5}}), "axis 2", "inner_product_param.axis");
  expect_config_error(inner_product("num_output: 2 bias_filler { type: 'constnt' }", {{4, 5}}), "\"constant\"",
                      "inner_product_param.bias_filler.type");
}

TEST(InnerProductTest, RefusesAnotherSizeLater) {
  const auto layer = make_layer(parse_layer("type: 'InnerProduct' inner_product_param { num_output: 3 }"));
  EXPECT_EQ(layer->infer_tops({Shape{2, 4, 5}})[0], (Shape{2, 3}));
  EXPECT_EQ(layer->infer_tops({Shape{7, 20}})[0], (Shape{7, 3}));
  EXPECT_THROW(layer->infer_tops({Shape{2, 4, 6}}), Error);
  EXPECT_EQ(layer->params()[0].shape, (Shape{3, 20}));
}

}  // namespace
}  // namespace robusta::test::inner_product_test
