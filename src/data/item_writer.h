/// One decoded picture into its place of a batch: top 0 the transformed numbers, or the bytes of its window; top 1, if
/// there is one, the label. What sources of pictures share.
///
/// What is drawn for a sample - crop, mirror - depends on the layer's name, the seed and the sample's position alone.
#pragma once

#include <string>
#include <vector>

#include "data/record_filler.h"
#include "data/transformer.h"

namespace robusta {

class ItemWriter {
 public:
  /// `layer` is the key of the random numbers; `labels`: whether there is a top 1; `resizing`: what else than crop_size
  /// gives pictures one size, for messages.
  ItemWriter(Transformer transformer, std::string layer, bool labels, std::string resizing)
      : transformer_(std::move(transformer)),
        layer_(std::move(layer)),
        labels_(labels),
        resizing_(std::move(resizing)) {}

  /// Makes wanted_size() ask the transformer.
  void decode_scaled() { scaled_ = true; }
  /// What to decode pictures by that come here as they are; null: whole.
  WantedSize wanted_size() const {
    if (!scaled_) return nullptr;
    return [this](const Extent& image) { return transformer_.wanted_size(image); };
  }
  /// That, and the part that is taken of the picture of this sample, as it is drawn without annotations.
  WantedPixels wanted_pixels(const Sample& sample) const;
  const Transformer& transformer() const { return transformer_; }
  bool labels() const { return labels_; }
  /// The shapes of the tops for a picture of this size. Throws as Transformer::output.
  std::vector<Shape> shapes(const Extent& item) const;
  /// Throws Error{kData} for a picture of another size than the batch's.
  void write(const Pixels& item, int label, const Sample& sample, Batch& batch) const;
  /// Top 0 alone. `annotations`: as Transformer::draw has them.
  void write_image(const Pixels& item, const Sample& sample, Batch& batch, Annotations* annotations = nullptr) const;
  /// The key of what is drawn for samples of this run.
  uint64_t key(const Sample& sample) const;

 private:
  Transformer transformer_;
  std::string layer_;  ///< the key of its random numbers
  bool labels_, scaled_ = false;
  std::string resizing_;
};

}  // namespace robusta
