/// Input for a net whose data source is not there, so that it can be timed all the same.
#pragma once

#include <span>
#include <string>

#include "caffe.pb.h"
#include "data/pixels.h"
#include "tensor/tensor.h"

namespace robusta {

struct AssumedExtent {
  Extent extent;
  std::string reason;  ///< for the log
};

/// The size that an item of a Data layer would have. The crop tells most of it; what the prototxt cannot tell is taken
/// from data sets that the source's name recalls, else from ImageNet.
AssumedExtent assume_item_extent(const caffe::LayerParameter& param);

/// Top 0: uniform in [-1, 1), the same for the same key; top 1, if any: label 0, which every net knows.
void fill_synthetic(std::span<const Tensor> tops, uint64_t key);

}  // namespace robusta
