/// From the pixels of an item to the numbers that enter the net: resize, crop, mirror, mean, scale.
///
/// out = (pixel - mean) * scale. A crop lies anywhere in training and in the centre in testing; mirroring is drawn in
/// both, as in Caffe. What is drawn depends only on (key, global position of the sample), so neither threads nor ranks
/// nor a resume change it. Immutable; `run` may be called from many threads.
#pragma once

#include <vector>

#include "caffe.pb.h"
#include "data/image.h"
#include "data/pixel_form.h"
#include "data/pixels.h"

namespace robusta {

class Transformer {
 public:
  /// Loads the mean file. Throws Error{kConfig} in its field for settings that contradict each other,
  /// Error{kUnsupported} for those of other Caffes that are not done here, Error{kData} for a mean file that cannot be
  /// read.
  Transformer(const caffe::TransformationParameter& param, bool training);

  /// Throws what the constructor would, but for the mean file.
  static void check(caffe::TransformationParameter param, bool training) {
    param.clear_mean_file();
    const Transformer checked(param, training);
  }

  /// force_color and force_gray.
  ColorMode color_mode() const { return color_mode_; }
  bool crops() const { return crop_height_ > 0; }
  bool resizes() const { return resize_height_ > 0; }

  /// The size of what comes out for an item of this size. Throws Error{kData}: item smaller than the crop, or not fit
  /// for the mean.
  Extent output(const Extent& item) const;

  /// Writes the item, planar, to `out` (output(item.extent).count() floats). `resized` is memory to use. Throws as
  /// `output`.
  void run(const Pixels& item, uint64_t key, uint64_t position, Image& resized, float* out) const;

  /// The same in two halves: `cut` writes the bytes of the window that `run` would take, and returns where it lies;
  /// form() says what becomes of each byte. REQUIRES: the item is of bytes.
  PixelWindow cut(const Pixels& item, uint64_t key, uint64_t position, Image& resized, uint8_t* out) const;
  PixelForm form() const;

  /// Draws of the prototxt's own random_seed (NVIDIA); else those of `seed`.
  uint64_t seed_or(uint64_t seed) const { return own_seed_ >= 0 ? static_cast<uint64_t>(own_seed_) : seed; }

 private:
  void read_crop(const caffe::TransformationParameter& param);
  void read_resize(const caffe::TransformationParameter& param);
  void read_mean(const caffe::TransformationParameter& param);
  void check_mean(const Extent& item) const;
  Extent resized_extent(const Extent& item) const;
  Extent window_of(const Extent& item) const;
  const uint8_t* bytes_of(const Pixels& item, Image& resized) const;
  PixelWindow draw(const Extent& item, uint64_t key, uint64_t position) const;
  template <typename T>
  void write(const T* pixels, const Extent& extent, const PixelWindow& window, float* out) const;

  bool training_, mirror_;
  float scale_;
  int64_t own_seed_;
  ColorMode color_mode_;
  int64_t crop_height_ = 0, crop_width_ = 0;
  int64_t resize_height_ = 0, resize_width_ = 0;
  Extent mean_extent_;              // of mean_image_
  std::vector<float> mean_image_;   // empty without a mean file
  std::vector<float> mean_values_;  // empty, one, or one per channel
};

}  // namespace robusta
