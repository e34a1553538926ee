// What of the bottoms of maps of detections can be checked once, whatever they hold.

#include "layers/kit/detection_maps.h"

#include "layers/kit/bottom_checks.h"
#include "layers/kit/kernel.h"

namespace robusta {

void throw_bad_truth(const DetectionMaps& maps, int64_t at, double number, const Pass& pass) {
  const int64_t cells = maps.cells(), k = at / cells % DetectionMaps::kTruthNumbers, cell = at % cells;
  const uint64_t sample = pass.first_sample + static_cast<uint64_t>(at / cells / DetectionMaps::kTruthNumbers);
  if (k == 0 && !maps.objectness) throw_bad_label(number, sample, maps.classes);
  constexpr const char* kNames[] = {"the class", "the middle x", "the middle y",
                                    "the width", "the height",   "the overlap"};
  throw Error(ErrorKind::kData,
              str(kNames[k], " is ", number, " in row ", cell / maps.width, ", column ", cell % maps.width,
                  " of the truth of sample ", sample),
              "classes, sizes and overlaps are 0 or more, and all are finite: look at what makes the labels");
}

std::optional<Shape> DetectionMapsLayer::wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const {
  if (bottom != 1 || bottoms[0].axes() != 4) return std::nullopt;
  Shape wanted = bottoms[0];
  wanted[1] = DetectionMaps::kTruthNumbers;
  return bottoms[1] == wanted ? std::nullopt : std::optional(wanted);
}

void DetectionMapsLayer::take_bottoms(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &predictions = bottoms[0], &truth = bottoms[1];
  if (predictions.axes() != 4 || predictions[1] != maps_.classes + 4) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", predictions.str()),
                str("wanted are four axes, and ", maps_.classes, " + 4 channels: scores, and codes of boxes"))
        .in_field("bottom");
  }
  Shape wanted = predictions;
  wanted[1] = DetectionMaps::kTruthNumbers;
  if (truth != wanted) {
    throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", truth.str(), ", and bottom 0 ", predictions.str()),
                str("wanted is ", wanted.str(), ": class, box and overlap of each cell"))
        .in_field("bottom");
  }
  maps_.items = predictions[0], maps_.height = predictions[2], maps_.width = predictions[3];
}

}  // namespace robusta
