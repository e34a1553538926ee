// ImageLabelmapData: images and binary maps, of edges say, from files that a list names. From
// src/caffe/layers/image_labelmap_data_layer.cpp of s9xie/hed: a label is 1 where the map is brighter than half. Tops:
// data, labels.

#include "layers/kit/pair_source.h"

namespace robusta {
namespace {

class ImageLabelmapDataLayer : public PairSource {
 public:
  explicit ImageLabelmapDataLayer(const caffe::LayerParameter& param)
      : PairSource(param, listed_images(param, param.image_data_param(), "image_data_param", "image map"),
                   {.binary = true}) {}
};

ROBUSTA_REGISTER_LAYER("ImageLabelmapData", ImageLabelmapDataLayer);

}  // namespace
}  // namespace robusta
