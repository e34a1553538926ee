// Counts of elements are checked against overflow where shapes come from users.

#include "tensor/shape.h"

#include <algorithm>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

int64_t Shape::count(int begin, int end) const {
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= dims_[static_cast<size_t>(axis)];
  return product;
}

int Shape::canonical_axis(int axis) const {
  const int canonical = axis < 0 ? axis + axes() : axis;
  if (canonical < 0 || canonical >= axes()) {
    throw Error(ErrorKind::kConfig, ::robusta::str("axis ", axis, " does not exist in shape ", str()),
                ::robusta::str("use ", -axes(), " to ", axes() - 1));
  }
  return canonical;
}

Shape Shape::slice(int begin, int end) const {
  return Shape(std::vector<int64_t>(dims_.begin() + begin, dims_.begin() + end));
}

std::string Shape::str() const {
  // For messages, so also of extents that nobody has checked: their product may be none that 64 bits hold.
  std::string text;
  int64_t product = 1;
  bool fits = true;
  for (int64_t dim : dims_) {
    text += std::to_string(dim) + " ";
    fits = !__builtin_mul_overflow(product, dim, &product) && fits;
  }
  return text + "(" + (fits ? std::to_string(product) : "too many") + ")";
}

void check_extents(const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 40;  // elements; 8 TiB of doubles
  int64_t product = 1;
  for (int64_t dim : shape.dims()) {
    // Parts of a shape are multiplied, too: an extent of 0 does not make the others possible.
    if (dim < 0 || product > kMost / std::max<int64_t>(dim, 1)) {
      std::string dims;
      for (int64_t d : shape.dims()) dims += std::to_string(d) + " ";
      throw Error(ErrorKind::kConfig, "impossible shape " + dims, "check the sizes in the prototxt");
    }
    product *= std::max<int64_t>(dim, 1);
  }
}

}  // namespace robusta
