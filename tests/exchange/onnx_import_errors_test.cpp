// Models that are refused: what cannot be said in Caffe, all of it at once, and models that contradict themselves.

#include <gtest/gtest.h>

#include "exchange/onnx_models.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::onnx_import_errors_test {
namespace {

Error refusal(const OnnxModel& model) {
  return error_of([&] { model.imported(); });
}

TEST(OnnxImportErrorsTest, AllNodesThatCannotBeSaidAreNamed) {
  OnnxModel model;
  model.input("x", {1, 2}).output("y").node("Erf", {"x"}, {"e"}).node("Relu", {"e"}, {"r"});
  model.node("Sigmoidd", {"r"}, {"y"}).node("Elu", {"x"}, {"unused"});
  const Error error = refusal(model);
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.location(), "m.onnx");
  EXPECT_TRUE(contains(error.what(), "2 nodes"));
  EXPECT_TRUE(contains(error.what(), "node \"Erf_e\" (Erf): operator Erf has no layer"));
  EXPECT_TRUE(contains(error.what(), "did you mean \"Sigmoid\"?"));
}

TEST(OnnxImportErrorsTest, AttributesAreNamed) {
  OnnxModel model;
  model.input("x", {1, 1, 2, 2}).output("y").floats("s", {4}, {1, 1, 2, 2});
  model.node("Resize", {"x", "", "s"}, {"y"}).set("mode", "cubic");
  EXPECT_TRUE(contains(refusal(model).what(), "node \"Resize_y\" (Resize): attribute mode: it is cubic"));
  OnnxModel product;
  product.input("a", {2, 2}).input("b", {2, 2}).output("y").node("MatMul", {"a", "b"}, {"y"});
  EXPECT_TRUE(contains(refusal(product).what(), "both factors depend on the inputs"));
}

TEST(OnnxImportErrorsTest, Subgraphs) {
  OnnxModel model;
  model.input("x", {1}).output("y").node("If", {"x"}, {"y"});
  onnx::AttributeProto& branch = *model.model.mutable_graph()->mutable_node(0)->add_attribute();
  branch.set_name("then_branch");
  branch.mutable_g()->set_name("inner");
  EXPECT_TRUE(contains(refusal(model).what(), "attribute then_branch is a graph of its own"));
}

TEST(OnnxImportErrorsTest, OtherDomains) {
  OnnxModel model;
  model.input("x", {1}).output("y").node("Relu", {"x"}, {"y"});
  model.model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  EXPECT_TRUE(contains(refusal(model).what(), "domain com.microsoft"));
}

TEST(OnnxImportErrorsTest, CyclesAndMissingValues) {
  OnnxModel model;
  model.input("x", {1}).output("y").node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Neg", {"b"}, {"y"});
  const Error error = refusal(model);
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(error.what(), "reads \"b\", which no node before it makes"));
}

TEST(OnnxImportErrorsTest, ValuesMadeTwice) {
  OnnxModel model;
  model.input("x", {1}).output("y").node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"y"});
  EXPECT_EQ(refusal(model).kind(), ErrorKind::kModel);
}

TEST(OnnxImportErrorsTest, Extents) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, -3}, {0, 3}, {int64_t{1} << 40, int64_t{1} << 40}}) {
    OnnxModel model;
    model.input("x", dims).output("y").node("Relu", {"x"}, {"y"});
    EXPECT_EQ(refusal(model).kind(), ErrorKind::kModel);
  }
}

TEST(OnnxImportErrorsTest, OpenDimensionsAskForAShape) {
  OnnxModel model;
  model.input("x", {1, 3}).output("y").node("Relu", {"x"}, {"y"});
  auto& shape = *model.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(1)->set_dim_param("width");
  EXPECT_TRUE(contains(refusal(model).what(), "dimension 1 of input \"x\" is open (\"width\")"));
  EXPECT_EQ(model.imported({.batch = 0, .shapes = {{"x", Shape{2, 7}}}}).outputs.at(0).shape, (Shape{2, 7}));
  EXPECT_EQ(error_of([&] {
              model.imported({.batch = 0, .shapes = {{"x", {1, 1}}, {"z", {1, 1}}}});
            }).kind(),
            ErrorKind::kUsage);
}

TEST(OnnxImportErrorsTest, ComputedConstantsAreBounded) {
  OnnxModel model;
  model.input("x", {1}).output("y").integers("shape", {1 << 20, 1 << 19});
  model.node("ConstantOfShape", {"shape"}, {"many"}).node("Add", {"x", "many"}, {"y"});
  EXPECT_TRUE(contains(refusal(model).what(), "constants of more than"));
  OnnxModel range;
  range.input("x", {1}).output("y").integers("a", {0}).integers("b", {1 << 30}).integers("c", {1});
  range.node("Range", {"a", "b", "c"}, {"many"}).node("Add", {"x", "many"}, {"y"});
  EXPECT_EQ(refusal(range).kind(), ErrorKind::kModel);
}

TEST(OnnxImportErrorsTest, WeightsThatDoNotFit) {
  OnnxModel model;
  model.input("x", {1, 3, 4, 4}).output("y").floats("w", {2, 2, 1, 1}, {1, 2, 3, 4}).node("Conv", {"x", "w"}, {"y"});
  EXPECT_TRUE(contains(refusal(model).what(), "node \"Conv_y\" (Conv)"));
  OnnxModel bias;
  bias.input("x", {1, 1, 4, 4}).output("y").floats("w", {2, 1, 1, 1}, {1, 2}).floats("b", {3}, {1, 2, 3});
  bias.node("Conv", {"x", "w", "b"}, {"y"});
  EXPECT_TRUE(contains(refusal(bias).what(), "array 1 has 3 numbers"));
}

TEST(OnnxImportErrorsTest, ExternalDataStayInTheFolder) {
  const TempDir folder;
  write_file(folder / "secret", std::string(8, 'x'));
  for (const std::string& place : {std::string("../secret"), folder / "secret", std::string("absent")}) {
    OnnxModel model;
    model.input("x", {1, 2}).output("y").node("Add", {"x", "w"}, {"y"});
    onnx::TensorProto& tensor = *model.model.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.add_dims(2);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(place);
    const std::string path = folder / "inner/model.onnx";
    EXPECT_EQ(error_of([&] { import_onnx(model.model, path, {}); }).kind(), ErrorKind::kModel) << place;
  }
}

TEST(OnnxImportErrorsTest, OutputsThatDependOnNothing) {
  OnnxModel model;
  model.input("x", {1}).output("c").floats("c", {1}, {2});
  EXPECT_EQ(refusal(model).kind(), ErrorKind::kModel);
}

TEST(OnnxImportErrorsTest, UnknownOpsets) {
  for (const int64_t opset : {0, 6, 1000}) {
    OnnxModel model(opset);
    model.input("x", {1}).output("y").node("Relu", {"x"}, {"y"});
    EXPECT_TRUE(contains(refusal(model).what(), "opset"));
  }
}

}  // namespace
}  // namespace robusta::test::onnx_import_errors_test
