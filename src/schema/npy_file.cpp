// The format is numpy's "NEP 1": magic, version, length of a header, the header - the text of a dict of Python with the
// keys descr, fortran_order and shape - and the numbers.

#include "schema/npy_file.h"

#include <cctype>
#include <charconv>

#include "base/str.h"

namespace robusta {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kMostAxes = 32;  // as many as numpy has

[[noreturn]] void refuse_npy(const std::string& cause) {
  throw Error(ErrorKind::kData, "an array of numpy " + cause,
              "save it anew: numpy.save(name, array.astype('float32'))");
}

/// The header, and where the numbers begin.
struct NpyParts {
  std::string_view header, numbers;
};

NpyParts npy_parts(std::string_view file) {
  const auto byte = [&](size_t at) -> size_t { return static_cast<unsigned char>(file[at]); };
  if (file.size() < 12) refuse_npy("is cut in its header");
  // Version 1 has two bytes for the length of the header, later ones have four.
  const size_t width = byte(6) == 1 ? 2 : 4, begin = 8 + width;
  size_t length = 0;
  for (size_t k = width; k-- > 0;) length = length << 8 | byte(8 + k);
  if (length > file.size() - begin) refuse_npy("is cut in its header");
  return {file.substr(begin, length), file.substr(begin + length)};
}

/// What follows the key, without the blanks in between.
std::string_view npy_value(std::string_view header, const std::string& key) {
  const std::string quoted = "'" + key + "':";
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) refuse_npy(str("has no ", key, " in its header"));
  header.remove_prefix(at + quoted.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

caffe::Type npy_type(std::string_view descr) {
  if (descr.starts_with("'<f8'")) return caffe::DOUBLE;
  if (descr.starts_with("'<f4'")) return caffe::FLOAT;
  if (descr.starts_with("'<f2'")) return caffe::FLOAT16;
  refuse_npy(
      str("has numbers of type ", descr.substr(0, descr.find(',')).substr(0, 20), "; f2, f4, f8 and u1 are read"));
}

/// "(3, 256, 256), ...", "(3,), ..." or "(), ...".
std::vector<int64_t> npy_shape(std::string_view text) {
  std::vector<int64_t> shape;
  if (!text.starts_with('(')) refuse_npy("has a shape that is none");
  text.remove_prefix(1);
  for (;;) {
    while (text.starts_with(' ') || text.starts_with(',')) text.remove_prefix(1);
    if (text.starts_with(')')) return shape;
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc{} || extent < 0 || shape.size() == kMostAxes) refuse_npy("has a shape that is none");
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

bool is_npy(std::string_view beginning) { return beginning.starts_with(kNpyMagic); }

BlobData parse_npy(const std::string& file) {
  const auto [header, numbers] = npy_parts(file);
  if (!npy_value(header, "fortran_order").starts_with("False"))
    throw Error(ErrorKind::kData, "an array of numpy is stored in the order of Fortran",
                "save it anew: numpy.save(name, numpy.ascontiguousarray(array))");
  BlobData array;
  array.shape = npy_shape(npy_value(header, "shape"));
  const std::string_view descr = npy_value(header, "descr");
  if (descr.starts_with("'|u1'")) {
    for (const char c : numbers) array.data.push_back(static_cast<float>(static_cast<unsigned char>(c)));
  } else {
    append_raw(npy_type(descr), std::string(numbers), &array.data);
  }
  require_full(array);
  return array;
}

}  // namespace robusta
