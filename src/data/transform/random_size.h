/// Sizes and regions that are drawn for each image: NVIDIA's img_rand_resize, rand_resize_ratio and stretches, Intel's
/// random_resize_param and random_aspect_ratio_param. What comes out is at least as large as the crop, unless the
/// image is too small itself.
///
/// Immutable; used by many threads.
#pragma once

#include <optional>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/transform/image_step.h"
#include "data/transform/resize_policy.h"

namespace robusta {

class RandomSize {
 public:
  /// Null where nothing of it is asked for. Throws Error{kConfig} in a field of transform_param; there has to be a
  /// crop, since images would come out in many sizes.
  static std::optional<RandomSize> of(const caffe::TransformationParameter& param, int64_t crop_height,
                                      int64_t crop_width);

  /// What to do with an image of this size; `draws` are those of this sample. Throws Error{kData} for what would be too
  /// large.
  std::vector<ImageStep> steps(const Extent& image, PhiloxStream draws) const;

 private:
  RandomSize(const caffe::TransformationParameter& param, int64_t crop_height, int64_t crop_width);

  /// NVIDIA's; Intel's two.
  std::vector<ImageStep> stretched(const Extent& image, PhiloxStream& draws) const;
  std::vector<ImageStep> by_short_side(const Extent& image, PhiloxStream& draws) const;
  std::vector<ImageStep> region(const Extent& image, PhiloxStream& draws) const;
  std::vector<ImageStep> with_short_side(const Extent& image, int64_t side, PhiloxStream& draws) const;

  caffe::TransformationParameter param_;
  int64_t crop_height_, crop_width_;
  ResizePolicy policy_;  ///< with whatever size is drawn (ResizePolicy::to)
};

}  // namespace robusta
