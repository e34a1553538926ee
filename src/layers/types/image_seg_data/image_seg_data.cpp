// ImageSegData: images and labels of their pixels from files that a list names, as DeepLab and PSPNet are trained on.
// From src/caffe/layers/image_seg_data_layer.cpp of TheLegendAli/DeepLab-Context and hszhao/PSPNet. label_type says
// what the labels are: a map (PIXEL), one for the whole image (IMAGE), or none, all being ignored (NONE). Tops: data,
// labels, and the rows and columns of each image that its sample shows.

#include "layers/kit/pair_source.h"

namespace robusta {
namespace {

PixelLabels labels_of(const caffe::ImageDataParameter& param) {
  switch (param.label_type()) {
    case caffe::ImageDataParameter::PIXEL:
      return PixelLabels::kMap;
    case caffe::ImageDataParameter::IMAGE:
      return PixelLabels::kOneForAll;
    default:
      return PixelLabels::kNone;
  }
}

const char* line_of(PixelLabels labels) {
  return labels == PixelLabels::kMap ? "image map" : labels == PixelLabels::kOneForAll ? "image label" : "image";
}

class ImageSegDataLayer : public PairSource {
 public:
  explicit ImageSegDataLayer(const caffe::LayerParameter& param)
      : PairSource(param,
                   listed_images(param, param.image_data_param(), "image_data_param",
                                 line_of(labels_of(param.image_data_param()))),
                   {.labels = labels_of(param.image_data_param()),
                    .pads = true,
                    .ignored = param.image_data_param().ignore_label(),
                    .most_tops = 3}) {
    if (param.transform_param().has_mean_file()) {
      throw Error(ErrorKind::kConfig, "images of all sizes have no mean image", "give mean_value")
          .in_field("transform_param.mean_file");
    }
  }
};

ROBUSTA_REGISTER_LAYER("ImageSegData", ImageSegDataLayer);

}  // namespace
}  // namespace robusta
