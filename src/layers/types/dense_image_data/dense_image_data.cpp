// DenseImageData: images and maps of labels from files that a list names, as SegNet is trained on. From
// src/caffe/layers/dense_image_data_layer.cpp of alexgkendall/caffe-segnet, which refuses crops and mirroring for not
// doing them to both alike. Tops: data, labels.

#include "layers/kit/pair_source.h"

namespace robusta {
namespace {

class DenseImageDataLayer : public PairSource {
 public:
  explicit DenseImageDataLayer(const caffe::LayerParameter& param)
      : PairSource(param, listed_images(param, param.dense_image_data_param(), "dense_image_data_param", "image map"),
                   {}) {}
};

ROBUSTA_REGISTER_LAYER("DenseImageData", DenseImageDataLayer);

}  // namespace
}  // namespace robusta
