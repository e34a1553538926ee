/// Sources of images with a label for each pixel: what DenseImageData, ImageSegData and ImageLabelmapData share.
///
/// Tops: data [batch, channels, height, width]; labels [batch, 1, height, width]; optionally, where a type has it, the
/// rows and columns of each image that its sample shows [batch, 1, 1, 2].
#pragma once

#include "data/pair_filler.h"
#include "layers/kit/listed_images.h"

namespace robusta {

/// What a type makes of its list.
struct PairRules {
  PixelLabels labels = PixelLabels::kMap;
  bool pads = false;    ///< PairSettings
  bool binary = false;  ///< PairSettings
  int ignored = 255;    ///< a label that no example has; 255 is PASCAL VOC's border
  int most_tops = 2;
};

class PairSource : public PrefetchedSource {
 public:
  PairSource(const caffe::LayerParameter& param, ListedImages images, const PairRules& rules);
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = most_tops_}; }

 protected:
  RecordSource open_records(const std::string& source) const override;
  AssumedItem assumed_item(const std::string& source) const override;
  Shape assumed_top(int top, int64_t batch) const override;

 private:
  std::string root_folder_;
  PixelLabels labels_;
  int most_tops_;
  PairSettings settings_;
};

}  // namespace robusta
