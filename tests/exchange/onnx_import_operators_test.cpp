// Operators of ONNX one by one: the layers that they become, and the numbers that these compute, worked out by hand.

#include <gtest/gtest.h>

#include <cmath>

#include "exchange/onnx_models.h"
#include "support/errors.h"

namespace robusta::test::onnx_import_operators_test {
namespace {

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted, float tolerance = 1e-5f) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], tolerance) << "at " << i;
}

OnnxModel unary(const std::string& type, const std::vector<int64_t>& dims) {
  return OnnxModel().input("x", dims).output("y").node(type, {"x"}, {"y"});
}

TEST(OnnxImportOperatorsTest, Names) {
  OnnxModel model;
  model.input("image data", {1, 2}).output("/out/Relu_output_0");
  model.node("Relu", {"image data"}, {"/out/Relu_output_0"});
  const ImportedNet net = model.imported();
  EXPECT_EQ(net.inputs.at(0).blob, "image_data");
  EXPECT_EQ(net.outputs.at(0).blob, "out/Relu");
  EXPECT_EQ(net.net.layer(1).name(), "out/Relu");
}

TEST(OnnxImportOperatorsTest, Functions) {
  const std::vector<float> x = {-4, -1, 0, 2};
  expect_near(unary("Relu", {1, 4}).run({x}), {0, 0, 0, 2});
  expect_near(unary("Neg", {1, 4}).run({x}), {4, 1, 0, -2});
  expect_near(unary("Abs", {1, 4}).run({x}), {4, 1, 0, 2});
  expect_near(unary("HardSwish", {1, 4}).run({x}), {0, -1.0f / 3, 0, 5.0f / 3});
  expect_near(unary("HardSigmoid", {1, 4}).set("alpha", 0.5f).run({x}), {0, 0, 0.5f, 1});
  expect_near(unary("LeakyRelu", {1, 4}).set("alpha", 0.25f).run({x}), {-1, -0.25f, 0, 2});
  expect_near(unary("Softplus", {1, 4}).run({x}), {0.0181499f, 0.3132617f, 0.6931472f, 2.1269280f});
  expect_near(unary("Sqrt", {1, 4}).run({{0, 1, 4, 9}}), {0, 1, 2, 3});
  expect_near(unary("Reciprocal", {1, 4}).run({{1, 2, 4, -1}}), {1, 0.5f, 0.25f, -1});
}

TEST(OnnxImportOperatorsTest, ClipByItsLimits) {
  const auto clip = [](float least, float most) {
    OnnxModel model =
        OnnxModel().input("x", {1, 3}).output("y").floats("a", Shape{}, {least}).floats("b", Shape{}, {most});
    return model.node("Clip", {"x", "a", "b"}, {"y"});
  };
  EXPECT_EQ(clip(0, 6).types(), "Input ReLU6");
  EXPECT_EQ(clip(0, INFINITY).types(), "Input ReLU");
  EXPECT_EQ(clip(-1, 1).types(), "Input Clip");
  expect_near(clip(-1, 1).run({{-3, 0.5f, 4}}), {-1, 0.5f, 1});
}

TEST(OnnxImportOperatorsTest, SigmoidTimesItsInputIsSwish) {
  OnnxModel model;
  model.input("x", {1, 2}).output("y").node("Sigmoid", {"x"}, {"s"}).node("Mul", {"x", "s"}, {"y"});
  EXPECT_EQ(model.types(), "Input Swish");
  expect_near(model.run({{0, 1}}), {0, 0.7310586f});
}

TEST(OnnxImportOperatorsTest, ArithmeticWithConstants) {
  const auto with = [](const char* type, bool first, const Shape& shape, const std::vector<float>& values) {
    OnnxModel model = OnnxModel().input("x", {1, 2, 2}).output("y").floats("c", shape, values);
    model.node(type, first ? std::vector<std::string>{"x", "c"} : std::vector<std::string>{"c", "x"}, {"y"});
    return model;
  };
  const std::vector<float> x = {1, 2, 4, 8};
  expect_near(with("Add", true, {}, {3}).run({x}), {4, 5, 7, 11});
  expect_near(with("Sub", false, {}, {3}).run({x}), {2, 1, -1, -5});
  expect_near(with("Div", false, {}, {8}).run({x}), {8, 4, 2, 1});
  expect_near(with("Mul", true, {2}, {1, 10}).run({x}), {1, 20, 4, 80});
  expect_near(with("Mul", true, {2, 1}, {1, 10}).run({x}), {1, 2, 40, 80});
  expect_near(with("Div", true, {2, 1}, {1, 2}).run({x}), {1, 2, 2, 4});
  expect_near(with("Sub", true, {1, 2, 2}, {1, 1, 2, 2}).run({x}), {0, 1, 2, 6});
  expect_near(with("Sub", false, {2}, {10, 20}).run({x}), {9, 18, 6, 12});
  expect_near(with("Pow", true, {}, {2}).run({x}), {1, 4, 16, 64});
  EXPECT_EQ(with("Mul", true, {2, 1}, {1, 10}).types(), "Input Scale");
  // The constant is the larger one: the blob is repeated.
  expect_near(with("Add", true, {2, 2, 2}, {0, 0, 0, 0, 100, 100, 100, 100}).run({x}),
              {1, 2, 4, 8, 101, 102, 104, 108});
}

TEST(OnnxImportOperatorsTest, ArithmeticOfBlobs) {
  const auto of = [](const char* type, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    return OnnxModel().input("a", a).input("b", b).output("y").node(type, {"a", "b"}, {"y"});
  };
  expect_near(of("Sub", {1, 3}, {1, 3}).run({{5, 6, 7}, {1, 2, 3}}), {4, 4, 4});
  expect_near(of("Div", {1, 2}, {1, 2}).run({{6, 8}, {2, 4}}), {3, 2});
  const std::vector<float> map = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(of("Mul", {1, 2, 2, 2}, {1, 2, 1, 1}).types(), "Input Input Flatten Scale");
  expect_near(of("Mul", {1, 2, 2, 2}, {1, 2, 1, 1}).run({map, {10, 100}}), {10, 20, 30, 40, 500, 600, 700, 800});
  expect_near(of("Sub", {1, 2, 2, 2}, {1, 2, 1, 1}).run({map, {1, 2}}), {0, 1, 2, 3, 3, 4, 5, 6});
  expect_near(of("Sub", {1, 2, 1, 1}, {1, 2, 2, 2}).run({{1, 2}, map}), {0, -1, -2, -3, -3, -4, -5, -6});
  // Neither is repeated to the other's shape.
  expect_near(of("Add", {2, 1}, {1, 2}).run({{1, 2}, {10, 20}}), {11, 21, 12, 22});
}

TEST(OnnxImportOperatorsTest, InnerProducts) {
  OnnxModel gemm;
  gemm.input("x", {1, 2}).output("y").floats("w", {2, 3}, {1, 2, 3, 4, 5, 6}).floats("c", {3}, {100, 200, 300});
  gemm.node("Gemm", {"x", "w", "c"}, {"y"}).set("alpha", 2.0f).set("beta", 0.5f);
  expect_near(gemm.run({{1, 10}}), {2 * 41 + 50, 2 * 52 + 100, 2 * 63 + 150});
  OnnxModel product;
  product.input("x", {1, 2, 2}).output("y").floats("w", {2, 1}, {1, 10}).floats("c", {1}, {0.5f});
  product.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "c"}, {"y"});
  expect_near(product.run({{1, 2, 3, 4}}), {21.5f, 43.5f});
  OnnxModel biased;
  biased.input("x", {1, 2}).output("y").floats("w", {2, 2}, {1, 0, 0, 1}).floats("c", {2}, {5, 6});
  biased.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"c", "p"}, {"y"});
  EXPECT_EQ(biased.types(), "Input InnerProduct");
  expect_near(biased.run({{1, 2}}), {6, 8});
}

TEST(OnnxImportOperatorsTest, ConvolutionWithPaddingOfOneSide) {
  OnnxModel model;
  model.input("x", {1, 1, 2, 2}).output("y").floats("w", {1, 1, 2, 2}, {1, 1, 1, 1});
  model.node("Conv", {"x", "w"}, {"y"}).list("pads", {0, 0, 1, 1});
  EXPECT_EQ(model.types(), "Input Pad Convolution");
  expect_near(model.run({{1, 2, 3, 4}}), {10, 6, 7, 4});
}

TEST(OnnxImportOperatorsTest, MaxPoolRoundsDown) {
  OnnxModel model = unary("MaxPool", {1, 1, 3, 3}).list("kernel_shape", {2, 2}).list("strides", {2, 2});
  expect_near(model.run({counting(9)}), {4});
  EXPECT_EQ(model.imported().net.layer(1).pooling_param().round_mode(), caffe::PoolingParameter::FLOOR);
  EXPECT_EQ(model.imported().warnings.size(), 1u);
  OnnxModel even = unary("MaxPool", {1, 1, 4, 4}).list("kernel_shape", {2, 2}).list("strides", {2, 2});
  EXPECT_FALSE(even.imported().net.layer(1).pooling_param().has_round_mode());
  expect_near(even.run({counting(16)}), {5, 7, 13, 15});
  OnnxModel up =
      unary("MaxPool", {1, 1, 3, 3}).list("kernel_shape", {2, 2}).list("strides", {2, 2}).set("ceil_mode", int64_t{1});
  expect_near(up.run({counting(9)}), {4, 5, 7, 8});
}

TEST(OnnxImportOperatorsTest, PaddingAtTheEndThatRoundsUp) {
  const auto pool = [](const char* type, int64_t size, const std::vector<int64_t>& pads) {
    return unary(type, {1, 1, size, size}).list("kernel_shape", {2, 2}).list("strides", {2, 2}).list("pads", pads);
  };
  const OnnxModel largest = pool("MaxPool", 3, {0, 0, 1, 1}), mean = pool("AveragePool", 3, {0, 0, 1, 1});
  EXPECT_EQ(largest.types(), "Input Pooling");
  EXPECT_EQ(mean.types(), "Input Pooling");
  EXPECT_FALSE(mean.imported().net.layer(1).pooling_param().has_round_mode());
  expect_near(largest.run({counting(9)}), {4, 5, 7, 8});
  expect_near(mean.run({counting(9)}), {2, 3.5f, 6.5f, 8});
  // More of it than rounding up takes makes further windows, and a size that needs no rounding none.
  EXPECT_EQ(pool("MaxPool", 3, {0, 0, 3, 3}).types(), "Input Pad Pooling");
  EXPECT_EQ(pool("MaxPool", 4, {0, 0, 1, 1}).types(), "Input Pooling");
  expect_near(pool("MaxPool", 4, {0, 0, 1, 1}).run({counting(16)}), {5, 7, 13, 15});
  EXPECT_EQ(pool("AveragePool", 3, {0, 0, 1, 1}).set("count_include_pad", int64_t{1}).types(), "Input Pad Pooling");
  EXPECT_EQ(error_of([&] { pool("AveragePool", 3, {0, 1, 1, 1}).imported(); }).kind(), ErrorKind::kUnsupported);
}

TEST(OnnxImportOperatorsTest, AveragesWithAndWithoutPadding) {
  const auto average = [](int64_t counts) {
    return unary("AveragePool", {1, 1, 2, 2})
        .list("kernel_shape", {3, 3})
        .list("pads", {1, 1, 1, 1})
        .set("count_include_pad", counts);
  };
  expect_near(average(0).run({{4, 4, 4, 4}}), {4, 4, 4, 4});
  expect_near(average(1).run({{9, 9, 9, 9}}), {4, 4, 4, 4});
  expect_near(unary("GlobalAveragePool", {1, 2, 1, 2}).run({{1, 3, 5, 9}}), {2, 7});
}

TEST(OnnxImportOperatorsTest, Reductions) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  expect_near(unary("ReduceMean", {1, 2, 3}).list("axes", {1}).set("keepdims", int64_t{0}).run({x}),
              {2.5f, 3.5f, 4.5f});
  expect_near(unary("ReduceL2", {1, 2, 1}).list("axes", {1}).run({{3, 4}}), {5});
  OnnxModel means = unary("ReduceMean", {1, 1, 1, 2}).list("axes", {-1, -2}).set("keepdims", int64_t{0});
  expect_near(means.run({{1, 2}}), {1.5f});
  EXPECT_EQ(means.imported().outputs.at(0).shape, (Shape{1, 1}));
}

TEST(OnnxImportOperatorsTest, BatchNorm) {
  OnnxModel model;
  model.input("x", {1, 2, 1, 1}).output("y").floats("g", {2}, {2, 3}).floats("b", {2}, {1, 0});
  model.floats("m", {2}, {1, 2}).floats("v", {2}, {4, 1});
  model.node("BatchNormalization", {"x", "g", "b", "m", "v"}, {"y"}).set("epsilon", 0.0f);
  EXPECT_EQ(model.types(), "Input BatchNorm Scale");
  expect_near(model.run({{3, 3}}), {3, 3});
}

TEST(OnnxImportOperatorsTest, ResizesRepeatPixels) {
  OnnxModel model;
  model.input("x", {1, 2, 1, 2}).output("y").floats("s", {4}, {1, 1, 2, 2});
  model.node("Resize", {"x", "", "s"}, {"y"}).set("mode", "nearest").set("nearest_mode", "floor");
  model.set("coordinate_transformation_mode", "asymmetric");
  EXPECT_EQ(model.types(), "Input Deconvolution");
  expect_near(model.run({{1, 2, 3, 4}}), {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
}

TEST(OnnxImportOperatorsTest, ShapesOfShapesAreComputed) {
  OnnxModel model;
  model.input("x", {2, 3, 2, 2}).output("y").integers("zero", {0}).integers("rest", {-1});
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"batch"});
  model.node("Concat", {"batch", "rest"}, {"to"}).set("axis", int64_t{0}).node("Reshape", {"x", "to"}, {"y"});
  EXPECT_EQ(model.types(), "Input Flatten");
  EXPECT_EQ(model.imported().outputs.at(0).shape, (Shape{2, 12}));
}

TEST(OnnxImportOperatorsTest, SlicesAndSplits) {
  OnnxModel slice;
  slice.input("x", {1, 4}).output("y").integers("b", {1}).integers("e", {3}).integers("a", {1});
  slice.node("Slice", {"x", "b", "e", "a"}, {"y"});
  EXPECT_EQ(slice.types(), "Input Slice Silence");
  expect_near(slice.run({{1, 2, 3, 4}}), {2, 3});
  OnnxModel split;
  split.input("x", {1, 3}).output("b").integers("s", {1, 2});
  split.node("Split", {"x", "s"}, {"a", "b"}).set("axis", int64_t{1});
  expect_near(split.run({{1, 2, 3}}), {2, 3});
  OnnxModel strided;
  strided.input("x", {1, 1, 4, 4}).output("y").integers("b", {1, 0}).integers("e", {4, 4}).integers("a", {2, 3});
  strided.integers("s", {2, 2}).node("Slice", {"x", "b", "e", "a", "s"}, {"y"});
  expect_near(strided.run({counting(16)}), {4, 6, 12, 14});
}

TEST(OnnxImportOperatorsTest, SoftmaxOfOldOpsetsTakesAllThatFollows) {
  OnnxModel model(11);
  model.input("x", {1, 2, 2}).output("y").node("Softmax", {"x"}, {"y"});
  expect_near(model.run({{0, 0, 0, 0}}), {0.25f, 0.25f, 0.25f, 0.25f});
  OnnxModel newer(13);
  newer.input("x", {1, 2, 2}).output("y").node("Softmax", {"x"}, {"y"});
  expect_near(newer.run({{0, 0, 0, 0}}), {0.5f, 0.5f, 0.5f, 0.5f});
}

TEST(OnnxImportOperatorsTest, OutputsThatAreReadAreCopied) {
  OnnxModel model;
  model.input("x", {1, 1}).output("y").output("z").node("Relu", {"x"}, {"y"}).node("Neg", {"y"}, {"z"});
  const ImportedNet net = model.imported();
  EXPECT_EQ(net.outputs.at(0).blob, "y");
  EXPECT_EQ(run_imported(net, {{3}}), (std::vector<std::vector<float>>{{3}, {-3}}));
}

TEST(OnnxImportOperatorsTest, OpenBatches) {
  OnnxModel model = unary("Relu", {1, 3});
  auto& shape = *model.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(0)->set_dim_param("batch");
  EXPECT_EQ(model.imported().outputs.at(0).shape, (Shape{1, 3}));
  EXPECT_EQ(model.imported({.batch = 4, .shapes = {}}).outputs.at(0).shape, (Shape{4, 3}));
}

}  // namespace
}  // namespace robusta::test::onnx_import_operators_test
