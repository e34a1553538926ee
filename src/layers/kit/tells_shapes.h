/// The role of layers that can tell which shapes bottoms should have. A net that is planned without its data asks them:
/// what stands for the data has shapes that were guessed, and takes those that the net wants (net/graph/guesses.h).
///
/// Layers are asked before infer_tops, for bottoms of any shapes at all, and answer from these and the prototxt alone.
#pragma once

#include <optional>
#include <vector>

#include "tensor/shape.h"

namespace robusta {

class TellsShapes {
 public:
  virtual ~TellsShapes() = default;
  /// The shape that a bottom should have, the others being as they are. None: the layer takes it as it is, or does not
  /// know.
  virtual std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const {
    return std::nullopt;
  }
  /// Whether the layer takes images here, of any size and number of channels, and the bottom holds none: what stands
  /// for absent data is then like the images beside it.
  virtual bool wants_image(size_t bottom, const std::vector<Shape>& bottoms) const { return false; }
  /// The shape that bottom 0 has where this top has the shape `wanted`. None: the shapes of both tell it by themselves
  /// (elementwise layers, and those that keep the channels), or nobody knows.
  virtual std::optional<Shape> bottom_for(size_t top, const Shape& wanted, const std::vector<Shape>& bottoms) const {
    return std::nullopt;
  }
};

/// A number for each sample, where an image is wanted (TellsShapes::wants_image).
inline bool is_no_image(const Shape& shape) { return shape.axes() == 1; }

/// Labels for the positions of scores outside of their class axis, which may count from the back: [N, 1, height, width]
/// for images. None where there are as many already, or no such axis.
inline std::optional<Shape> wanted_labels(const Shape& scores, int axis, const Shape& labels) {
  if (axis < 0) axis += scores.axes();
  if (axis < 0 || axis >= scores.axes()) return std::nullopt;
  if (labels.count() == scores.count(0, axis) * scores.count(axis + 1)) return std::nullopt;
  if (axis == scores.axes() - 1) return scores.slice(0, axis);
  Shape wanted = scores;
  wanted[axis] = 1;
  return wanted;
}

/// Targets of the shape of predictions. None where there are as many of each sample already.
inline std::optional<Shape> wanted_targets(const Shape& predictions, const Shape& targets) {
  const bool fits = predictions.axes() > 0 && targets.axes() > 0 && predictions[0] == targets[0] &&
                    predictions.count(1) == targets.count(1);
  return fits ? std::nullopt : std::optional(predictions);
}

}  // namespace robusta
