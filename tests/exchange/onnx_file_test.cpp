// Model files of ONNX: elements of every type from every place, and what is wrong with hostile ones.

#include "exchange/onnx/file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "robusta/error.h"
#include "support/files.h"

namespace robusta::test::onnx_file_test {
namespace {

using Proto = onnx::TensorProto;

template <typename T>
onnx::TensorProto raw(int type, const std::vector<T>& values) {
  onnx::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  tensor.set_raw_data(bytes);
  return tensor;
}

std::string error_of(const onnx::TensorProto& tensor, const std::string& model = "m.onnx") {
  try {
    tensor_values(tensor, model);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OnnxFileTest, RawElementsOfAllTypes) {
  const std::vector<float> want{1, 0, 3};
  EXPECT_EQ(tensor_values(raw<float>(Proto::FLOAT, {1, 0, 3}), ""), want);
  EXPECT_EQ(tensor_values(raw<double>(Proto::DOUBLE, {1, 0, 3}), ""), want);
  EXPECT_EQ(tensor_values(raw<uint16_t>(Proto::FLOAT16, {to_fp16(1), to_fp16(0), to_fp16(3)}), ""), want);
  EXPECT_EQ(tensor_values(raw<uint16_t>(Proto::BFLOAT16, {to_bf16(1), to_bf16(0), to_bf16(3)}), ""), want);
  EXPECT_EQ(tensor_values(raw<int8_t>(Proto::INT8, {-1, 0, 3}), ""), (std::vector<float>{-1, 0, 3}));
  EXPECT_EQ(tensor_values(raw<uint8_t>(Proto::UINT8, {255, 0, 3}), ""), (std::vector<float>{255, 0, 3}));
  EXPECT_EQ(tensor_values(raw<int16_t>(Proto::INT16, {-1, 0, 3}), ""), (std::vector<float>{-1, 0, 3}));
  EXPECT_EQ(tensor_values(raw<uint16_t>(Proto::UINT16, {65535, 0, 3}), ""), (std::vector<float>{65535, 0, 3}));
  EXPECT_EQ(tensor_values(raw<int32_t>(Proto::INT32, {-1, 0, 3}), ""), (std::vector<float>{-1, 0, 3}));
  EXPECT_EQ(tensor_values(raw<uint32_t>(Proto::UINT32, {1, 0, 3}), ""), want);
  EXPECT_EQ(tensor_values(raw<int64_t>(Proto::INT64, {-1, 0, 3}), ""), (std::vector<float>{-1, 0, 3}));
  EXPECT_EQ(tensor_values(raw<uint64_t>(Proto::UINT64, {1, 0, 3}), ""), want);
  EXPECT_EQ(tensor_values(raw<uint8_t>(Proto::BOOL, {7, 0, 1}), ""), (std::vector<float>{1, 0, 1}));
}

TEST(OnnxFileTest, ListedElements) {
  onnx::TensorProto tensor;
  tensor.add_dims(2);
  tensor.set_data_type(Proto::FLOAT);
  tensor.add_float_data(1.5f);
  tensor.add_float_data(-2);
  EXPECT_EQ(tensor_values(tensor, ""), (std::vector<float>{1.5f, -2}));
  tensor.clear_float_data();
  tensor.set_data_type(Proto::FLOAT16);
  tensor.add_int32_data(to_fp16(0.25f));
  tensor.add_int32_data(to_fp16(-3));
  EXPECT_EQ(tensor_values(tensor, ""), (std::vector<float>{0.25f, -3}));
  tensor.clear_int32_data();
  tensor.set_data_type(Proto::INT64);
  tensor.add_int64_data(int64_t{1} << 40);
  tensor.add_int64_data(-1);
  EXPECT_EQ(tensor_integers(tensor, ""), (std::vector<int64_t>{int64_t{1} << 40, -1}));
}

TEST(OnnxFileTest, TensorsComeBack) {
  const onnx::TensorProto floats = float_tensor("f", {2, 1}, {1.5f, -2});
  EXPECT_EQ(tensor_shape(floats), (Shape{2, 1}));
  EXPECT_EQ(tensor_values(floats, ""), (std::vector<float>{1.5f, -2}));
  const onnx::TensorProto scalar = integer_tensor("i", {}, {7});
  EXPECT_EQ(tensor_shape(scalar), Shape{});
  EXPECT_EQ(tensor_integers(scalar, ""), (std::vector<int64_t>{7}));
}

TEST(OnnxFileTest, SizesThatDoNotFit) {
  onnx::TensorProto tensor = raw<float>(Proto::FLOAT, {1, 2, 3});
  tensor.set_dims(0, 4);
  EXPECT_EQ(error_of(tensor), "tensor \"t\": it has 12 bytes, and 16 by its shape");
  tensor.set_dims(0, -3);
  EXPECT_NE(error_of(tensor).find("impossible shape"), std::string::npos);
  tensor.set_dims(0, int64_t{1} << 39);  // no memory is taken for it
  EXPECT_NE(error_of(tensor).find("it has 12 bytes"), std::string::npos);
  tensor.clear_raw_data();
  tensor.set_dims(0, 1);
  EXPECT_EQ(error_of(tensor), "tensor \"t\": it has 0 elements, and 1 by its shape");
  tensor.set_data_type(Proto::STRING);
  EXPECT_NE(error_of(tensor).find("STRING"), std::string::npos);
  EXPECT_THROW(tensor_integers(raw<float>(Proto::FLOAT, {1}), ""), Error);
}

onnx::TensorProto external(const std::string& location, int64_t offset) {
  onnx::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(Proto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(Proto::EXTERNAL);
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  return tensor;
}

TEST(OnnxFileTest, ExternalData) {
  const TempDir folder;
  const float values[] = {0, 1.5f, -2};
  write_file(folder / "weights.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  const std::string model = folder / "m.onnx";
  EXPECT_EQ(tensor_values(external("weights.bin", 4), model), (std::vector<float>{1.5f, -2}));
  EXPECT_NE(error_of(external("weights.bin", 8), model).find("has not the 8 bytes"), std::string::npos);
  EXPECT_NE(error_of(external("absent.bin", 0), model).find("cannot open"), std::string::npos);
  EXPECT_NE(error_of(external("weights.bin", -4), model).find("the offset of its external data is \"-4\""),
            std::string::npos);
}

TEST(OnnxFileTest, ExternalDataStayInTheFolder) {
  const TempDir folder, other;
  write_file(other / "secret", "12345678");
  const std::string model = folder / "m.onnx";
  EXPECT_NE(error_of(external(other / "secret", 0), model).find("outside of the model's folder"), std::string::npos);
  const std::string up = "../" + other.path().filename().string() + "/secret";
  EXPECT_NE(error_of(external(up, 0), model).find("outside of the model's folder"), std::string::npos);
  std::filesystem::create_symlink(other / "secret", folder / "link");
  EXPECT_NE(error_of(external("link", 0), model).find("outside of the model's folder"), std::string::npos);
}

TEST(OnnxFileTest, FilesThatAreNoModels) {
  const TempDir folder;
  write_file(folder / "text", "name: \"lenet\"\n");
  write_file(folder / "empty", "");
  for (const std::string name : {"text", "empty", "absent"}) {
    try {
      read_onnx_file(folder / name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kModel) << error.what();
      EXPECT_EQ(error.location(), folder / name);
    }
  }
}

TEST(OnnxFileTest, ModelsComeBack) {
  const TempDir folder;
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.mutable_graph()->add_node()->set_op_type("Relu");
  write_onnx_file(folder / "m.onnx", model);
  EXPECT_EQ(read_onnx_file(folder / "m.onnx").SerializeAsString(), model.SerializeAsString());
}

}  // namespace
}  // namespace robusta::test::onnx_file_test
