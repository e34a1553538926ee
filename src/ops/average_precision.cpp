// As weiliu89/caffe's ComputeAP (branch ssd, bbox_util.cpp), so that numbers can be compared: places on the curve are
// single precision, in which 7 of 10 is less than 0.7, and MaxIntegral's precision between two places is the best from
// the first of them on.

#include "ops/average_precision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace robusta {
namespace {

/// A place on the curve: after a box that was found.
struct Place {
  float precision, recall;
};

std::vector<Place> curve_of(std::vector<Judgement> found, int64_t objects) {
  const auto weight = [](const Judgement& one) { return std::isnan(one.score) ? -HUGE_VALF : one.score; };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  std::vector<Place> curve;
  float right = 0;
  for (const Judgement& one : found) {
    right += one.right ? 1 : 0;
    curve.push_back({right / static_cast<float>(curve.size() + 1), right / static_cast<float>(objects)});
  }
  return curve;
}

double eleven_points(const std::vector<Place>& curve) {
  std::array<float, 11> best{};
  for (const Place& place : curve) {
    for (size_t i = 0; i < best.size(); ++i) {
      if (static_cast<double>(place.recall) >= static_cast<double>(i) / 10)
        best[i] = std::max(best[i], place.precision);
    }
  }
  return std::accumulate(best.begin(), best.end(), 0.0) / static_cast<double>(best.size());
}

double max_integral(const std::vector<Place>& curve) {
  double sum = 0;
  float best = 0;
  for (size_t i = curve.size(); i-- > 0;) {
    best = std::max({best, curve[i].precision, curve[i > 0 ? i - 1 : 0].precision});
    sum += static_cast<double>(best * (curve[i].recall - (i > 0 ? curve[i - 1].recall : 0)));
  }
  return sum;
}

double integral(const std::vector<Place>& curve) {
  double sum = 0;
  float before = 0;
  for (const Place& place : curve) {
    sum += static_cast<double>(place.precision * (place.recall - before));
    before = place.recall;
  }
  return sum;
}

}  // namespace

std::optional<ApVersion> ap_version_named(std::string_view name) {
  if (name == "11point") return ApVersion::kElevenPoints;
  if (name == "MaxIntegral") return ApVersion::kMaxIntegral;
  if (name == "Integral") return ApVersion::kIntegral;
  return std::nullopt;
}

double average_precision(std::vector<Judgement> found, int64_t objects, ApVersion version) {
  if (objects <= 0) return 0;
  const std::vector<Place> curve = curve_of(std::move(found), objects);
  switch (version) {
    case ApVersion::kElevenPoints:
      return eleven_points(curve);
    case ApVersion::kMaxIntegral:
      return max_integral(curve);
    case ApVersion::kIntegral:
      return integral(curve);
  }
  return 0;
}

}  // namespace robusta
