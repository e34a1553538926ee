/// The size of items of a Data layer whose source is not there, so that its net can be timed all the same.
#pragma once

#include <string>

#include "caffe.pb.h"
#include "data/pixels.h"
#include "layers/kit/stand_in.h"

namespace robusta {

struct AssumedExtent {
  Extent extent;
  std::string reason;  ///< for the log
};

/// The crop tells most of it; what the prototxt cannot tell is taken from data sets that the source's name recalls,
/// else from ImageNet.
AssumedExtent assumed_extent(const std::string& source, const caffe::TransformationParameter& transform);

/// The same as an item [channels, height, width], with what the prototxt says of it.
AssumedItem assumed_image(const std::string& source, const caffe::TransformationParameter& transform);

}  // namespace robusta
