/// The boxes of an image, which go where its pixels go.
///
/// Coordinates are parts of the image: 0..1. A box that leaves the image goes; what of it stays is cut off at the
/// edges.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "caffe.pb.h"
#include "data/transform/image_step.h"
#include "ops/boxes.h"

namespace robusta {

struct AnnotatedBox {
  Box<float> box;                   ///< in parts of the image
  int32_t label = 0, instance = 0;  ///< class; number among its class
  bool difficult = false;           ///< PASCAL VOC's flag
};

/// Which boxes stay where a part of the image is taken (SSD's emit_constraint): those whose middle lies in it, or those
/// of which more than a share does. Without one: those of which any does.
class BoxRule {
 public:
  BoxRule() = default;
  /// Throws Error{kConfig} in transform_param.emit_constraint.emit_overlap.
  explicit BoxRule(const caffe::EmitConstraint& constraint);

  bool stays(const Box<float>& box, const Box<float>& region) const;

 private:
  std::optional<caffe::EmitConstraint> constraint_;
};

/// The part of `box` that lies in `whole`, by the area of the box; 0 for a box without any.
float coverage(const Box<float>& box, const Box<float>& whole);

/// A rectangle of an image of this size, in parts of the image.
Box<float> region_of(const PixelRect& rect, const Extent& image);

/// What becomes of boxes where `region`, in parts of their image and maybe reaching beyond it, becomes the image.
void project(const Box<float>& region, const BoxRule& rule, std::vector<AnnotatedBox>& boxes);

/// Left and right exchanged.
void mirror(std::vector<AnnotatedBox>& boxes);

}  // namespace robusta
