/// A picture of what a net is given, small enough to stand in a report.
#pragma once

#include <string>
#include <vector>

#include "tensor/shape.h"

namespace robusta {

/// Whether such a blob is of pictures: [samples, 1 or 3, height, width].
bool is_picture(const Shape& shape);

/// Sample `index` as a PNG in base64: the least value black, the greatest white, the channels as B, G and R, and at
/// most 64 pixels a side. REQUIRES: is_picture(shape), as many values.
std::string small_picture(const std::vector<float>& values, const Shape& shape, int64_t index);

std::string base64(const std::string& bytes);

}  // namespace robusta
