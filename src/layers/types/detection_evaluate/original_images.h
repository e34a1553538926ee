/// The images that a detector's samples were made from: how large they are, and where in them a box lies (weiliu89/
/// caffe, branch ssd, bbox_util.cpp: OutputBBox).
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "ops/boxes.h"

namespace robusta {

class OriginalImages {
 public:
  /// None: boxes stay parts of the sample.
  OriginalImages() = default;
  /// From a file with a line "name height width" for each sample. Throws Error{kData} at file:line.
  OriginalImages(const std::string& file, const caffe::DetectionEvaluateParameter& param);

  bool empty() const { return sizes_.empty(); }
  /// The pixels of a box of the sample: from its first to the end of its last, within the image. After the last image
  /// of the file comes the first one. REQUIRES: not empty.
  Box<float> pixels_of(const Box<float>& box, uint64_t sample) const;

 private:
  struct Size {
    float height, width;
  };
  /// A box of the sample as parts of the image that fills it but for what pads it.
  Box<float> unpadded(const Box<float>& box, const Size& size) const;

  std::vector<Size> sizes_;
  bool resized_ = false;
  caffe::ResizeParameter resize_;
};

}  // namespace robusta
