/// From an image and its map of labels to one sample: top 0 [C, H, W] the image, top 1 [1, H, W] a label for each
/// pixel, top 2 [1, 1, 2], if there is one, the rows and columns of the image that are in the sample.
///
/// Both go through the same resizing, scaling, crop and mirroring; labels are copied, never mixed, but where they are
/// binary (PairSettings). What is drawn depends on the layer's name, the seed and the sample's position alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/image_pairs.h"
#include "data/record_filler.h"
#include "data/transformer.h"

namespace robusta {

struct PairSettings {
  std::string layer;     ///< the key of the random numbers
  Extent size;           ///< 3 channels or 1; with a height, both are resized to it
  bool training = true;  ///< crops are drawn; else they are the middle
  bool mirror = false;
  int64_t crop_height = 0, crop_width = 0;  ///< 0: no crop
  bool pads = false;                        ///< what a crop shows beyond the image is 0, and ignored
  std::vector<float> scale_factors;         ///< one is drawn for each sample; needs a crop
  bool binary = false;                      ///< labels are 1 where the map is brighter than half, which may be mixed
  int ignored = 255;                        ///< the label of what has none
  bool extents = false;                     ///< whether there is a top 2
};

class PairFiller : public RecordFiller {
 public:
  /// `numbers` knows mean and scale, and neither crops, mirrors nor resizes.
  PairFiller(PairSettings settings, Transformer numbers, std::shared_ptr<const ImagePairsReader> pairs)
      : settings_(std::move(settings)),
        numbers_(std::move(numbers)),
        form_(numbers_.form()),
        pairs_(std::move(pairs)) {}

  std::vector<Shape> item_shapes(std::string_view record, int64_t index) const override;
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override;
  std::optional<PixelForm> pixel_form(std::string_view) const override { return form_; }
  int label_top() const override { return settings_.binary ? -1 : 1; }
  /// The largest in the record but what is ignored.
  int label(std::string_view record, int64_t index) const override;

 private:
  struct Draw;
  struct Plane;

  bool resizes() const { return settings_.size.height > 0; }
  bool crops() const { return settings_.crop_height > 0; }
  bool has_maps() const { return pairs_->labels() == PixelLabels::kMap; }
  ColorMode color_mode() const { return settings_.size.channels == 3 ? ColorMode::kColor : ColorMode::kGray; }
  std::vector<Shape> shapes(const Extent& out) const;
  Extent output(const Extent& whole) const;
  void read_image(std::string_view file, Image& image) const;
  void read_map(std::string_view file, const Extent& image, Image& map) const;
  void read_map_of(const Sample& sample, std::string_view file, const Extent& image, Image& map) const;
  Draw draw(const Sample& sample) const;
  Extent scaled(const Extent& image, float factor) const;
  Plane plane_of(const Extent& whole, const Draw& drawn) const;
  void check_batch(const Extent& out, const Batch& batch) const;
  void write_image(const Image& image, const Plane& plane, float* out) const;
  static PixelWindow write_pixels(const Image& image, const Plane& plane, uint8_t* out);
  void write_labels(const Image& map, int label, const Plane& plane, float* out) const;

  PairSettings settings_;
  Transformer numbers_;
  PixelForm form_;  // its
  std::shared_ptr<const ImagePairsReader> pairs_;
};

}  // namespace robusta
