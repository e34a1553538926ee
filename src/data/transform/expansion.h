/// An image somewhere on a larger canvas of the mean colour, so that what it shows becomes smaller (SSD's
/// expand_param). Immutable; used by many threads.
#pragma once

#include <optional>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/transform/image_step.h"

namespace robusta {

class Expansion {
 public:
  /// `means`: the canvas, one value or one per channel; none: 0. Throws Error{kConfig} in a field of
  /// transform_param.expand_param.
  Expansion(const caffe::ExpansionParameter& param, const std::vector<float>& means);

  /// Whether it never does anything.
  bool is_nothing() const;
  /// Nothing, for images that stay as they are. Throws Error{kData} for a canvas that would be too large.
  std::optional<ImageStep> step(const Extent& image, PhiloxStream draws) const;

 private:
  float probability_, most_;   ///< most_: how many times longer a side becomes at most
  std::vector<uint8_t> fill_;  ///< of each channel: the means, as in SSD
};

}  // namespace robusta
