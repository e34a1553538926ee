/// The steps in which images change their size: each is known before a pixel is looked at, so that boxes and sizes of
/// tops can be had without decoding.
#pragma once

#include <cstdint>
#include <vector>

#include "data/pixels.h"
#include "data/planar_image.h"
#include "data/transform/resample.h"

namespace robusta {

/// What stands around an image that does not fill its canvas.
enum class Surroundings {
  kConstant,  ///< ImageStep::fill
  kMirrored,  ///< the image in a mirror at its edges, where the edge itself comes once
  kRepeated   ///< the nearest pixel of the image
};

struct ImageStep {
  enum class Kind {
    kCut,    ///< `rect` of the image stays
    kResize  ///< the image in a new size, as `rect` of a canvas of height x width; outside of it, `around`
  };
  Kind kind = Kind::kResize;
  PixelRect rect;
  int64_t height = 0, width = 0;  ///< of the result
  Interpolation interpolation = Interpolation::kLinear;
  Surroundings around = Surroundings::kConstant;  ///< what fills the canvas beside `rect`
  std::vector<uint8_t> fill = {};                 ///< one, or one per channel; none: 0
};

/// The image after the step, in `to`, which is not the memory of `from`; `memory` is to use.
void take_step(const ImageStep& step, const Pixels& from, Image& memory, Image& to);

}  // namespace robusta
