/// bbox_reg_param: the means and deviations that the codes of boxes were normalised by, in the order x, y, width and
/// height (zhaoweicai/mscnn). Where they are not given, codes are what they are.
#pragma once

#include <array>

#include "base/half.h"
#include "caffe.pb.h"
#include "layers/kit/field_checks.h"

namespace robusta {

struct BoxStatistics {
  std::array<float, 4> mean{}, deviation{1, 1, 1, 1};

  /// Number `k` of a code, normalised.
  template <typename T>
  ROBUSTA_HOST_DEVICE T apply(int k, T number) const {
    return (number - static_cast<T>(mean[static_cast<size_t>(k)])) / static_cast<T>(deviation[static_cast<size_t>(k)]);
  }
  /// Number `k` of a code, as it was before.
  template <typename T>
  ROBUSTA_HOST_DEVICE T undo(int k, T number) const {
    return number * static_cast<T>(deviation[static_cast<size_t>(k)]) + static_cast<T>(mean[static_cast<size_t>(k)]);
  }
};

/// Throws Error{kConfig} unless there are four of each, or none.
inline BoxStatistics read_box_statistics(const caffe::BBoxRegParameter& p) {
  BoxStatistics statistics;
  if (p.bbox_mean_size() == 0 || p.bbox_std_size() == 0) return statistics;
  const auto fail = [](const std::string& field, const std::string& cause, const std::string& fix) {
    throw Error(ErrorKind::kConfig, cause, fix).in_field("bbox_reg_param." + field);
  };
  if (p.bbox_mean_size() != 4 || p.bbox_std_size() != 4) {
    fail(p.bbox_mean_size() != 4 ? "bbox_mean" : "bbox_std",
         str("there are ", p.bbox_mean_size(), " means and ", p.bbox_std_size(), " deviations"),
         "give 4 of each: x, y, width and height");
  }
  for (int k = 0; k < 4; ++k) {
    statistics.mean[static_cast<size_t>(k)] = require_finite(p.bbox_mean(k), "bbox_reg_param.bbox_mean");
    const float deviation = require_finite(p.bbox_std(k), "bbox_reg_param.bbox_std");
    if (deviation <= 0) fail("bbox_std", str("a deviation is ", deviation), "give numbers above 0");
    statistics.deviation[static_cast<size_t>(k)] = deviation;
  }
  return statistics;
}

}  // namespace robusta
