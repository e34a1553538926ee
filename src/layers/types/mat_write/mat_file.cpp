// A header, and one element: that of the array, which holds elements of its flags, extents, name and numbers.

#include "layers/types/mat_write/mat_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/atomic_file.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

enum ElementType : uint32_t { kInt8 = 1, kInt32 = 5, kUint32 = 6, kSingle = 7, kDouble = 9, kMatrix = 14 };
enum ArrayClass : uint32_t { kDoubleArray = 6, kSingleArray = 7 };
constexpr size_t kHeader = 128, kTag = 8;

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

/// What stands in front of the numbers.
class Beginning {
 public:
  void add_header() {
    std::string text = "MATLAB 5.0 MAT-file, written by Robusta";
    text.resize(kHeader - 12, ' ');
    bytes_ = text + std::string(8, '\0');  // no data of subsystems
    add_number<uint16_t>(0x0100);
    add_number<uint16_t>(0x4d49);  // "IM" where the lowest byte comes first: so a reader knows the order of bytes
  }

  void add_tag(ElementType type, size_t bytes) {
    add_number<uint32_t>(type);
    add_number(static_cast<uint32_t>(bytes));
  }
  void add(ElementType type, const void* data, size_t bytes) {
    add_tag(type, bytes);
    bytes_.append(static_cast<const char*>(data), bytes);
    bytes_.resize(padded(bytes_.size()));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename Number>
  void add_number(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  std::string bytes_;
};

/// From MATLAB's first axis to its last; two at least.
std::vector<int32_t> extents(const Shape& shape) {
  std::vector<int32_t> dims;
  for (int axis = shape.axes() - 1; axis >= 0; --axis) dims.push_back(static_cast<int32_t>(shape[axis]));
  while (dims.size() < 2) dims.push_back(1);
  return dims;
}

}  // namespace

void write_mat_file(const std::string& path, const std::string& name, const Tensor& tensor) {
  const bool single = tensor.desc.dtype == DType::kF32;
  const size_t numbers = static_cast<size_t>(tensor.count()) * (single ? sizeof(float) : sizeof(double));
  const std::vector<int32_t> dims = extents(tensor.desc.shape);
  const size_t of_dims = dims.size() * sizeof(int32_t);
  const size_t inside = 2 * kTag + kTag + padded(of_dims) + kTag + padded(name.size()) + kTag + padded(numbers);
  if (inside > std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorKind::kOutput,
                str("the array has ", numbers, " bytes, and files of MATLAB's level 5 at most 4 GiB"),
                "write less of it, or by HDF5Output")
        .at(path);
  }
  Beginning beginning;
  beginning.add_header();
  beginning.add_tag(kMatrix, inside);
  const uint32_t flags[] = {single ? kSingleArray : kDoubleArray, 0};
  beginning.add(kUint32, flags, sizeof flags);
  beginning.add(kInt32, dims.data(), of_dims);
  beginning.add(kInt8, name.data(), name.size());
  beginning.add_tag(single ? kSingle : kDouble, numbers);
  write_file_atomically(path, [&](int fd) {
    write_all(fd, beginning.bytes().data(), beginning.bytes().size());
    write_all(fd, tensor.data, numbers);
    const char padding[8] = {};
    write_all(fd, padding, padded(numbers) - numbers);
  });
}

}  // namespace robusta
