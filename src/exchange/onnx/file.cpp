// Elements lie in raw_data, in the list of their type, or in another file; all three are brought into one row of bytes
// or numbers first, so that each element type is converted in one place.

#include "exchange/onnx/file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/half.h"
#include "base/input_file.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/binary_file.h"
#include "schema/blob_proto.h"

namespace robusta {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

[[noreturn]] void refuse_tensor(const onnx::TensorProto& tensor, const std::string& cause,
                                const std::string& fix = "") {
  throw Error(ErrorKind::kModel, str("tensor \"", tensor.name(), "\": ", cause), fix);
}

std::string element_type_name(int type) {
  const std::string& name = onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type));
  return name.empty() ? str("type ", type) : name;
}

/// Bytes of one element in raw_data; 0 for types without.
size_t element_bytes(int type) {
  switch (type) {
    case onnx::TensorProto::BOOL:
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
      return 1;
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return 2;
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
      return 4;
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64:
      return 8;
    default:
      return 0;
  }
}

int64_t number_in(const onnx::TensorProto& tensor, const std::string& key, const std::string& text) {
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0)
    refuse_tensor(tensor, str("the ", key, " of its external data is \"", text, "\""));
  return number;
}

struct ExternalPlace {
  std::string location;
  int64_t offset = 0, length = -1;  ///< -1: up to the end
};

ExternalPlace external_place(const onnx::TensorProto& tensor) {
  ExternalPlace place;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = number_in(tensor, "offset", entry.value());
    if (entry.key() == "length") place.length = number_in(tensor, "length", entry.value());
  }
  if (place.location.empty()) refuse_tensor(tensor, "its data lie in another file, which it does not name");
  return place;
}

/// A model may come from anybody: it reads nothing outside of its folder, by no way up and no link.
std::filesystem::path file_in_folder_of(const std::string& model_path, const onnx::TensorProto& tensor,
                                        const std::string& location) {
  namespace fs = std::filesystem;
  const fs::path parent = fs::path(model_path).parent_path();
  std::error_code problem;
  const fs::path folder = fs::weakly_canonical(parent.empty() ? "." : parent, problem);
  const fs::path file = fs::weakly_canonical(folder / location, problem);
  if (problem || std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first != folder.end()) {
    refuse_tensor(tensor, str("its data are said to lie in \"", location, "\", outside of the model's folder"),
                  "put the file of its data beside the model");
  }
  return file;
}

std::string external_bytes(const onnx::TensorProto& tensor, const std::string& model_path, size_t wanted) {
  const ExternalPlace place = external_place(tensor);
  const std::filesystem::path path = file_in_folder_of(model_path, tensor, place.location);
  const InputFile file = open_input_file(path.string(), ErrorKind::kModel);
  const int64_t rest = file.info.st_size - place.offset;
  if (rest < 0 || static_cast<uint64_t>(rest) < wanted ||
      (place.length >= 0 && static_cast<uint64_t>(place.length) != wanted)) {
    refuse_tensor(tensor, str(path.string(), " has not the ", wanted, " bytes of its data at ", place.offset),
                  "the file is cut, or belongs to another model");
  }
  std::string bytes(wanted, '\0');
  for (size_t have = 0; have < wanted;) {
    const ssize_t got = ::pread(file.descriptor.get(), bytes.data() + have, wanted - have,
                                static_cast<off_t>(place.offset + static_cast<int64_t>(have)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse_tensor(tensor, str("cannot read ", path.string()), "check the disk");
    have += static_cast<size_t>(got);
  }
  return bytes;
}

/// Elements of type `Stored` in bytes, one after the other, as numbers of type T.
template <typename T, typename Stored, typename Convert>
void convert_bytes(const std::string& bytes, std::vector<T>& values, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    values[i] = convert(stored);
  }
}

template <typename T, typename Stored>
void convert_bytes(const std::string& bytes, std::vector<T>& values) {
  convert_bytes<T, Stored>(bytes, values, [](Stored stored) { return static_cast<T>(stored); });
}

template <typename T>
std::vector<T> values_of_bytes(int type, const std::string& bytes, size_t count) {
  std::vector<T> values(count);
  using Proto = onnx::TensorProto;
  switch (type) {
    case Proto::FLOAT:
      convert_bytes<T, float>(bytes, values);
      break;
    case Proto::DOUBLE:
      convert_bytes<T, double>(bytes, values);
      break;
    case Proto::FLOAT16:
      convert_bytes<T, uint16_t>(bytes, values, [](uint16_t bits) { return static_cast<T>(from_fp16(bits)); });
      break;
    case Proto::BFLOAT16:
      convert_bytes<T, uint16_t>(bytes, values, [](uint16_t bits) { return static_cast<T>(from_bf16(bits)); });
      break;
    case Proto::BOOL:
      convert_bytes<T, uint8_t>(bytes, values, [](uint8_t byte) { return static_cast<T>(byte != 0); });
      break;
    case Proto::INT8:
      convert_bytes<T, int8_t>(bytes, values);
      break;
    case Proto::UINT8:
      convert_bytes<T, uint8_t>(bytes, values);
      break;
    case Proto::INT16:
      convert_bytes<T, int16_t>(bytes, values);
      break;
    case Proto::UINT16:
      convert_bytes<T, uint16_t>(bytes, values);
      break;
    case Proto::INT32:
      convert_bytes<T, int32_t>(bytes, values);
      break;
    case Proto::UINT32:
      convert_bytes<T, uint32_t>(bytes, values);
      break;
    case Proto::INT64:
      convert_bytes<T, int64_t>(bytes, values);
      break;
    case Proto::UINT64:
      convert_bytes<T, uint64_t>(bytes, values);
      break;
    default:
      break;  // check_type has refused it
  }
  return values;
}

template <typename T, typename List>
std::vector<T> values_of_list(const onnx::TensorProto& tensor, const List& list, size_t count) {
  if (static_cast<size_t>(list.size()) != count)
    refuse_tensor(tensor, str("it has ", list.size(), " elements, and ", count, " by its shape"));
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto element = list[static_cast<int>(i)];
    if (tensor.data_type() == onnx::TensorProto::FLOAT16) {
      values[i] = static_cast<T>(from_fp16(static_cast<uint16_t>(element)));
    } else if (tensor.data_type() == onnx::TensorProto::BFLOAT16) {
      values[i] = static_cast<T>(from_bf16(static_cast<uint16_t>(element)));
    } else {
      values[i] = static_cast<T>(element);
    }
  }
  return values;
}

template <typename T>
std::vector<T> values_of_lists(const onnx::TensorProto& tensor, size_t count) {
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return values_of_list<T>(tensor, tensor.float_data(), count);
    case onnx::TensorProto::DOUBLE:
      return values_of_list<T>(tensor, tensor.double_data(), count);
    case onnx::TensorProto::INT64:
      return values_of_list<T>(tensor, tensor.int64_data(), count);
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
      return values_of_list<T>(tensor, tensor.uint64_data(), count);
    default:
      return values_of_list<T>(tensor, tensor.int32_data(), count);
  }
}

template <typename T>
std::vector<T> values_as(const onnx::TensorProto& tensor, const std::string& model_path) {
  const size_t each = element_bytes(tensor.data_type());
  if (each == 0)
    throw Error(ErrorKind::kUnsupported, str("tensor \"", tensor.name(), "\" holds ",
                                             element_type_name(tensor.data_type()), ", which is no number here"));
  const auto count = static_cast<size_t>(tensor_shape(tensor).count());
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return values_of_bytes<T>(tensor.data_type(), external_bytes(tensor, model_path, count * each), count);
  if (!tensor.has_raw_data()) return values_of_lists<T>(tensor, count);
  if (tensor.raw_data().size() != count * each)
    refuse_tensor(tensor, str("it has ", tensor.raw_data().size(), " bytes, and ", count * each, " by its shape"));
  return values_of_bytes<T>(tensor.data_type(), tensor.raw_data(), count);
}

template <typename T>
onnx::TensorProto raw_tensor(const std::string& name, const Shape& shape, const std::vector<T>& values,
                             onnx::TensorProto::DataType type) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : shape.dims()) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
  return tensor;
}

}  // namespace

onnx::ModelProto read_onnx_file(const std::string& path) {
  onnx::ModelProto model;
  read_binary_proto(path, &model, ErrorKind::kModel);
  if (!model.has_graph() || model.graph().node_size() + model.graph().output_size() == 0)
    throw Error(ErrorKind::kModel, "this is no model of ONNX: there is no graph in it", "name an .onnx file").at(path);
  return model;
}

void write_onnx_file(const std::string& path, const onnx::ModelProto& model) {
  if (model.ByteSizeLong() > static_cast<size_t>(kLargestMessage))
    throw Error(ErrorKind::kOutput,
                str("the model has ", model.ByteSizeLong(), " bytes, and a file of ONNX less than 2 GiB"),
                "weights in files beside the model are not written: export a part of the net")
        .at(path);
  write_binary_proto(path, model);
}

Shape tensor_shape(const onnx::TensorProto& tensor) {
  const Shape shape(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
  try {
    check_extents(shape);
  } catch (const Error& error) {
    refuse_tensor(tensor, error.cause());
  }
  return shape;
}

std::vector<float> tensor_values(const onnx::TensorProto& tensor, const std::string& model_path) {
  return values_as<float>(tensor, model_path);
}

std::vector<int64_t> tensor_integers(const onnx::TensorProto& tensor, const std::string& model_path) {
  using Proto = onnx::TensorProto;
  const int type = tensor.data_type();
  if (type == Proto::FLOAT || type == Proto::DOUBLE || type == Proto::FLOAT16 || type == Proto::BFLOAT16)
    refuse_tensor(tensor, str("it holds ", element_type_name(type), ", and whole numbers are wanted"));
  return values_as<int64_t>(tensor, model_path);
}

onnx::TensorProto float_tensor(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  return raw_tensor(name, shape, values, onnx::TensorProto::FLOAT);
}

onnx::TensorProto integer_tensor(const std::string& name, const Shape& shape, const std::vector<int64_t>& values) {
  return raw_tensor(name, shape, values, onnx::TensorProto::INT64);
}

}  // namespace robusta
