// Losses of scores and one label per sample: shapes.

#include "layers/kit/class_loss.h"

#include "base/str.h"

namespace robusta {

std::vector<Shape> ClassLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape &scores = bottoms[0], &labels = bottoms[1];
  if (scores.axes() == 0 || labels.count() != scores[0]) {
    throw Error(ErrorKind::kConfig,
                str("the scores (", scores.str(), ") must have samples, and each of them one label, but there are ",
                    labels.count(), " labels (", labels.str(), ")"))
        .in_field("bottom");
  }
  return {Shape{}};
}

}  // namespace robusta
