/// How far two arrays of equal size are from each other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace robusta {

struct ArrayDifference {
  int64_t count = 0, beyond = 0;  ///< numbers; those that differ by more than epsilon
  double largest = 0, mean = 0;   ///< absolute differences; infinite where one side is no number
  int64_t at = 0;                 ///< the first place of the largest
  double scale = 0;               ///< the largest absolute number of the first array
};

/// Two that are no numbers, or the same infinity, are equal. REQUIRES: a.size() == b.size().
inline ArrayDifference array_difference(const std::vector<float>& a, const std::vector<float>& b, double epsilon) {
  ArrayDifference result;
  result.count = static_cast<int64_t>(a.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) result.scale = std::max(result.scale, std::fabs(static_cast<double>(a[i])));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double distance = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(distance)) distance = std::numeric_limits<double>::infinity();
    sum += distance;
    result.beyond += distance > epsilon;
    if (distance <= result.largest) continue;
    result.largest = distance;
    result.at = static_cast<int64_t>(i);
  }
  if (!a.empty()) result.mean = sum / static_cast<double>(a.size());
  return result;
}

}  // namespace robusta
