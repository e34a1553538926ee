// Shapes by name, as one word of the command line.

#include "app/flags/named_shapes.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

[[noreturn]] void refuse_shapes(const std::string& part) {
  throw Error(ErrorKind::kUsage, str("-shapes has \"", part, "\""), "write NAME:1,3,224,224");
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::map<std::string, Shape> named_shapes(const std::string& text) {
  std::map<std::string, Shape> shapes;
  for (const std::string& part : parts_of(text, ';')) {
    if (part.empty()) continue;
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0) refuse_shapes(part);
    std::vector<int64_t> dims;
    for (const std::string& number : parts_of(part.substr(colon + 1), ',')) {
      int64_t dim = 0;
      const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), dim);
      if (problem != std::errc() || end != number.data() + number.size() || dim < 1) refuse_shapes(part);
      dims.push_back(dim);
    }
    shapes[part.substr(0, colon)] = Shape(dims);
  }
  return shapes;
}

}  // namespace robusta
