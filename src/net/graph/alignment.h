/// Where blobs of one net lie relative to each other, pixel by pixel.
#pragma once

#include "net/graph/graph.h"

namespace robusta {

/// The pixels of blob `a` that lie where the first ones of blob `b` do, for each axis behind batch and channels: from
/// the windows of the layers between both and the last blob that both come from by way of first bottoms (Long et al.
/// 2015, "Fully Convolutional Networks for Semantic Segmentation"). Throws Error{kConfig} where there is no such blob,
/// where pixels do not fall on pixels, or where b begins before a.
std::vector<int64_t> offsets_between(const Graph& graph, VersionId a, VersionId b);

}  // namespace robusta
