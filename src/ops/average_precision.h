/// Average precision of what a detector has found, from one class (Everingham et al. 2010, "The PASCAL visual object
/// classes (VOC) challenge", section 4.2). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace robusta {

/// How the curve of precision over recall becomes a number.
enum class ApVersion {
  kElevenPoints,  ///< the mean of the best precisions at recalls of 0, 0.1, .. 1 and above: VOC 2007
  kMaxIntegral,   ///< the area under the best precisions from each recall on: VOC 2012, ILSVRC
  kIntegral,      ///< the area under the curve as it is
};

/// The one that Caffe calls "11point", "MaxIntegral" or "Integral".
std::optional<ApVersion> ap_version_named(std::string_view name);
/// These names.
inline constexpr char kApVersions[] = "11point, MaxIntegral or Integral";

/// A box that was found.
struct Judgement {
  float score;
  bool right;  ///< it is matched with an object that no better box has
};

/// In 0..1, of `objects` that were there to be found; 0 where none were. Of equal scores the first counts as better.
double average_precision(std::vector<Judgement> found, int64_t objects, ApVersion version);

}  // namespace robusta
