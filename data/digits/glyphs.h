/// The pen strokes of the ten digits, each in several ways of writing.
///
/// Coordinates: x to the right and y downwards, both about 0 to 1. A stroke is a smooth curve through its points; a
/// point given twice in a row is a corner.
#pragma once

#include <vector>

namespace robusta::digits {

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// The ways to write `digit`. REQUIRES: 0 <= digit <= 9.
const std::vector<Glyph>& ways_to_write(int digit);

}  // namespace robusta::digits
