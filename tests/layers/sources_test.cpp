// Input and DummyData.

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "layers/kit/source_layer.h"
#include "support/errors.h"
#include "support/kernel_harness.h"

namespace robusta::test::sources_test {
namespace {

std::unique_ptr<Layer> make(const std::string& text) { return make_layer(parse_layer("name: 'source' " + text)); }
SourceLayer& source(Layer& layer) { return static_cast<SourceLayer&>(layer); }

/// The tops after one fill.
template <typename T = float>
std::vector<std::vector<T>> filled(Layer& layer, const Pass& pass) {
  std::vector<std::vector<T>> values;
  std::vector<Tensor> tops;
  for (const Shape& shape : layer.infer_tops({})) {
    values.emplace_back(static_cast<size_t>(shape.count()), T{-99});
    tops.push_back({{shape, dtype_of<T>(), nullptr}, nullptr});
  }
  for (size_t i = 0; i < tops.size(); ++i) tops[i].data = values[i].data();
  source(layer).fill(tops, pass);
  return values;
}

Pass pass_at(uint64_t sample, uint64_t seed = 1) { return {.seed = seed, .first_sample = sample, .next_sample = 0}; }

void expect_error(const std::string& text, const std::string& cause, const std::string& field) {
  const Error error = error_of([&] { make(text)->infer_tops({}); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.cause(), cause));
  EXPECT_EQ(error.field(), field);
}

TEST(InputTest, ShapesBatchAndReshape) {
  auto layer = make("type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 dim: 3 } shape { dim: 2 } }");
  EXPECT_EQ(layer->infer_tops({}), (std::vector<Shape>{{2, 3}, {2}}));
  source(*layer).set_batch(7);
  EXPECT_EQ(layer->infer_tops({}), (std::vector<Shape>{{7, 3}, {7}}));
  EXPECT_TRUE(source(*layer).reshape_top(1, {4, 4}));
  EXPECT_EQ(layer->infer_tops({}), (std::vector<Shape>{{7, 3}, {4, 4}}));
  EXPECT_TRUE(layer->is_source());
  EXPECT_TRUE(source(*layer).constant());
  EXPECT_EQ(filled(*layer, pass_at(0))[0], std::vector<float>(21, 0));
}

TEST(InputTest, OneShapeForAll) {
  auto layer = make("type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 dim: 3 } }");
  EXPECT_EQ(layer->infer_tops({}), (std::vector<Shape>{{2, 3}, {2, 3}}));
}

TEST(InputTest, Errors) {
  expect_error("type: 'Input' top: 'a'", "1 tops need one shape", "input_param.shape");
  expect_error("type: 'Input' top: 'a' input_param { shape { dim: 0 } }", "holds nothing", "input_param.shape");
  const Error error =
      error_of([] { make("type: 'Input' top: 'a' input_param { shape { dim: -2 } }")->infer_tops({}); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
}

TEST(DummyDataTest, ConstantsAndZeros) {
  auto constants = make(
      "type: 'DummyData' top: 'a' top: 'b' dummy_data_param { shape { dim: 2 dim: 2 } data_filler { value: 0.25 } }");
  EXPECT_TRUE(source(*constants).constant());
  EXPECT_EQ(filled(*constants, pass_at(0)),
            (std::vector<std::vector<float>>{{.25, .25, .25, .25}, {.25, .25, .25, .25}}));
  auto zeros = make("type: 'DummyData' top: 'a' dummy_data_param { num: 2 channels: 1 height: 3 width: 2 }");
  EXPECT_TRUE(source(*zeros).constant());
  EXPECT_EQ(zeros->infer_tops({})[0], (Shape{2, 1, 3, 2}));
  EXPECT_EQ(filled<double>(*zeros, pass_at(0))[0], std::vector<double>(12, 0));
}

TEST(DummyDataTest, LegacyFormPerTop) {
  auto layer = make(
      "type: 'DummyData' top: 'a' top: 'b' dummy_data_param { num: 2 num: 5 channels: 3 height: 1 width: 4 width: 6 }");
  EXPECT_EQ(layer->infer_tops({}), (std::vector<Shape>{{2, 3, 1, 4}, {5, 3, 1, 6}}));
  source(*layer).set_batch(9);
  EXPECT_EQ(layer->infer_tops({}), (std::vector<Shape>{{9, 3, 1, 4}, {9, 3, 1, 6}}));
}

TEST(DummyDataTest, RandomTopsChangeWithEachPass) {
  auto layer = make(
      "type: 'DummyData' top: 'a' top: 'b' top: 'c' dummy_data_param { shape { dim: 100 } data_filler { type: "
      "'uniform' } "
      "data_filler { type: 'uniform' } data_filler { value: 3 } }");
  EXPECT_FALSE(source(*layer).constant());
  const auto first = filled(*layer, pass_at(0)), second = filled(*layer, pass_at(100));
  EXPECT_EQ(filled(*layer, pass_at(0)), first);
  EXPECT_NE(second[0], first[0]);
  EXPECT_NE(first[1], first[0]);
  EXPECT_NE(filled(*layer, pass_at(0, 2))[0], first[0]);
  EXPECT_EQ(first[2], std::vector<float>(100, 3));
  EXPECT_EQ(second[2], std::vector<float>(100, 3));
  EXPECT_GT(std::set<float>(first[0].begin(), first[0].end()).size(), 95u);
}

TEST(DummyDataTest, StaticFillersRepeat) {
  auto layer =
      make("type: 'DummyData' top: 'a' dummy_data_param { shape { dim: 9 } data_filler { type: 'gaussianstatic' } }");
  EXPECT_TRUE(source(*layer).constant());
  const auto first = filled(*layer, pass_at(0));
  EXPECT_EQ(filled(*layer, pass_at(50)), first);
  EXPECT_NE(first[0][0], first[0][1]);
}

TEST(DummyDataTest, Errors) {
  expect_error("type: 'DummyData' top: 'a' dummy_data_param { shape { dim: 2 } data_filler { type: 'gausian' } }",
               "gausian", "dummy_data_param.data_filler.type");
  expect_error("type: 'DummyData' top: 'a'", "1 tops need one shape", "dummy_data_param.shape");
  expect_error("type: 'DummyData' top: 'a' top: 'b' top: 'c' dummy_data_param { shape { dim: 1 } shape { dim: 1 } }",
               "3 tops need one shape", "dummy_data_param.shape");
  expect_error("type: 'DummyData' top: 'a' dummy_data_param { num: 1 channels: 1 height: 1 }", "one width",
               "dummy_data_param.width");
  expect_error("type: 'DummyData' top: 'a' dummy_data_param { num: 1 shape { dim: 1 } }", "both given",
               "dummy_data_param.shape");
  expect_error("type: 'DummyData' top: 'a' dummy_data_param { shape { dim: 2 dim: 0 } }", "holds nothing",
               "dummy_data_param.shape");
  expect_error("type: 'DummyData' top: 'a' dummy_data_param { shape { dim: 2 } data_filler {} data_filler {} }",
               "one data_filler", "dummy_data_param.data_filler");
}

}  // namespace
}  // namespace robusta::test::sources_test
