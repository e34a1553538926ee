/// What makes the samples of ImageGtData.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "data/object_file.h"
#include "data/record_filler.h"
#include "data/transformer.h"
#include "layers/types/image_gt_data/cell_labels.h"

namespace robusta {

inline constexpr int64_t kGtPlanes = 3;      ///< images are read in colours
inline constexpr int64_t kGtRowNumbers = 7;  ///< of a box

/// `layer`: its name, by which is drawn. `settings`, `maps`: of a known canvas. `images`: those whose records are
/// filled.
std::unique_ptr<RecordFiller> make_gt_filler(const std::string& layer, const PlacingSettings& settings,
                                             std::vector<CellMap> maps, const caffe::ImageGtDataParameter& param,
                                             const Transformer& transformer,
                                             std::shared_ptr<const ObjectFileReader> images);

}  // namespace robusta
