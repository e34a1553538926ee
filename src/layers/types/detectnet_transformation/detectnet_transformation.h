/// DetectNetTransformation: augments images with the objects on them, and makes of the objects the grid that DetectNet
/// learns (NVIDIA's DIGITS; NVIDIA/caffe, detectnet_transform_layer.cpp and detectnet_coverage_rectangular.cpp). Shared
/// by its kernels.
///
/// Bottoms: images [N, 3, height, width], planes B, G, R; a list of objects for each (coverage.h). Tops: images
/// [N, 3, image_size_y, image_size_x]; a grid [N, 8 + classes, image_size_y / stride, image_size_x / stride]. In TRAIN
/// images are augmented as was drawn (augmentation.h), in TEST they are scaled to the top's size. The means of
/// transform_param are subtracted; a mean image is scaled to the images first.
///
/// There, drawn numbers follow from one another, so that they differ with the number of ranks, and a GPU samples images
/// otherwise than the host (align_corners, another cubic); here all draw by the sample and sample as the host does.
#pragma once

#include <vector>

#include "layers/kit/kernel.h"
#include "layers/kit/tells_shapes.h"
#include "layers/types/detectnet_transformation/augmented_pixels.h"
#include "layers/types/detectnet_transformation/coverage.h"
#include "schema/blob_proto.h"

namespace robusta {

class DetectNetTransformationLayer : public Layer, public TellsShapes {
 public:
  explicit DetectNetTransformationLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 2, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const override {
    constexpr double kCubic = 2 * 16;  ///< 16 pixels, each times its weight and added
    return kCubic * static_cast<double>(tops[0].count());
  }

  // After infer_tops.
  int64_t samples() const { return samples_; }
  int64_t rows() const { return rows_; }  ///< of a list
  const ImageSize& in() const { return augmentation_.in; }
  /// Of a run with this seed.
  Augmentation augmentation(uint64_t seed) const;
  /// 3 x height x width for the bottom's images; empty without a mean file.
  const std::vector<float>& mean_image() const { return scaled_mean_; }
  /// Of a mean image in this memory.
  PixelMeans means(const float* image) const;
  /// Pairs for CoverageRule::mapping.
  const std::vector<float>& mapping() const { return mapping_; }
  /// With the pairs in this memory.
  CoverageRule coverage(const float* mapping) const;
  /// Throws the Error{kData} of the number at this place of bottom 1.
  [[noreturn]] void throw_bad_list(int64_t place, double value, const Pass& pass) const;

 private:
  void read_augmentation();
  void read_coverage();
  void read_means();
  void scale_mean();

  Augmentation augmentation_;
  CoverageRule coverage_;
  std::vector<float> mapping_;
  std::vector<float> mean_values_;  ///< none, or three
  BlobData mean_file_;              ///< no data without one
  std::vector<float> scaled_mean_;
  int64_t samples_ = 0, rows_ = 0;
};

/// The steps of a forward pass in order, each a body for every index of its range.
template <typename T>
struct DetectNetSteps {
  DrawEach draw;       ///< samples
  ColorEach<T> color;  ///< samples * pixels of the bottom
  PlaceEach<T> place;  ///< numbers of top 0
  CoverEach<T> cover;  ///< samples * cells

  /// `scratch`: scratch_bytes. It, `mean` and `mapping` lie in the memory of the device that runs the steps.
  DetectNetSteps(const DetectNetTransformationLayer& layer, const KernelRun& run, void* scratch, const float* mean,
                 const float* mapping)
      : draw{layer.augmentation(run.pass->seed), run.first_sample, static_cast<DrawnAugmentation*>(scratch)},
        color{draw.drawn, layer.in().width * layer.in().height, layer.means(mean), run.bottoms[0].as<T>(),
              reinterpret_cast<T*>(draw.drawn + layer.samples())},
        place{draw.drawn, layer.in(), draw.augmentation.out, color.colored, run.tops[0].as<T>()},
        cover{layer.coverage(mapping),
              {run.bottoms[1].as<T>(), layer.rows()},
              layer.in(),
              draw.drawn,
              run.tops[1].as<T>()} {}

  static size_t scratch_bytes(const DetectNetTransformationLayer& layer) {
    const auto samples = static_cast<size_t>(layer.samples());
    const auto pixels = static_cast<size_t>(layer.in().width * layer.in().height);
    return samples * (sizeof(DrawnAugmentation) + 3 * pixels * sizeof(T));
  }
};

}  // namespace robusta
