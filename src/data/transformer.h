/// From the pixels of an item to the numbers that enter the net: distorted colours, a larger canvas, a patch, other
/// sizes, a scaled crop, noise, crop, mirror, mean, scale; each as far as it is asked for, and in this order.
///
/// out = (pixel - mean) * scale. A crop lies anywhere in training and in the centre in testing; mirroring is drawn in
/// both, as in Caffe, and so is everything that forks have added. What is drawn depends only on (key, global position
/// of the sample), so neither threads nor ranks nor a resume change it; where an image goes is drawn before its pixels
/// are looked at, so that boxes can go with it. Immutable; all functions may be called from many threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "caffe.pb.h"
#include "data/image.h"
#include "data/pixel_form.h"
#include "data/pixels.h"
#include "data/transform/annotations.h"
#include "data/transform/distortion.h"
#include "data/transform/expansion.h"
#include "data/transform/image_step.h"
#include "data/transform/noise.h"
#include "data/transform/patch_sampler.h"
#include "data/transform/random_size.h"
#include "data/transform/resize_policy.h"
#include "data/transform/scaled_crop.h"

namespace robusta {

/// Memory that is used again from item to item. One per thread.
struct TransformMemory {
  Image front, back, inner;  ///< the item as it is; what the next step makes of it; scratch of a step
};

/// What goes with an image.
struct Annotations {
  std::vector<AnnotatedBox> boxes;
  const PatchSampler* sampler = nullptr;  ///< draws a patch by them; null: the whole image is taken
};

/// What was drawn for one sample.
struct Drawn {
  std::vector<ImageStep> steps;  ///< in this order
  Extent whole;                  ///< after the steps
  PixelWindow window;            ///< of it
};

class Transformer {
 public:
  /// Loads the mean file. `takes_patches`: whether annotations come with a sampler. Throws Error{kConfig} in its field
  /// for settings that contradict each other, Error{kUnsupported} for those of other Caffes that are not done here,
  /// Error{kData} for a mean file that cannot be read.
  Transformer(const caffe::TransformationParameter& param, bool training, bool takes_patches = false);

  /// Throws what the constructor would, but for the mean file.
  static void check(caffe::TransformationParameter param, bool training) {
    param.clear_mean_file();
    const Transformer checked(param, training);
  }

  /// force_color and force_gray.
  ColorMode color_mode() const { return color_mode_; }
  bool crops() const { return crop_height_ > 0; }
  /// Whether pixels change before they are cropped.
  bool alters_images() const {
    return expansion_ || random_size_ || resize_ || scaled_crop_ || distortion_ || noise_ || is_flow_;
  }

  /// The size of what comes out for an item of this size. Throws Error{kData}: item smaller than the crop, or not fit
  /// for the mean.
  Extent output(const Extent& item) const;

  /// The rows and columns of an image of this size that make no smaller what comes out: where nothing but a resizing by
  /// means of pixels comes first, those that it makes; else the image's. Throws as `draw`.
  Extent wanted_size(const Extent& image) const;

  /// The part that `run` looks at of an image which was decoded in this size, for the sample at `position`, without
  /// annotations: whatever the other pixels are, the same comes out. Throws as `draw`.
  PixelRect part_read(const Extent& decoded, const Extent& image, uint64_t key, uint64_t position) const;

  /// What is drawn for the sample at `position`; the boxes of `annotations`, if there are any, go with the image.
  /// Throws Error{kData}: the image would become too large, or smaller than the crop.
  Drawn draw(const Extent& item, uint64_t key, uint64_t position, Annotations* annotations = nullptr) const;

  /// Writes the item, planar, to `out` (output(item.extent).count() floats). Throws as `output` and `draw`.
  void run(const Pixels& item, uint64_t key, uint64_t position, TransformMemory& memory, float* out,
           Annotations* annotations = nullptr) const;

  /// The same in two halves: `cut` writes the bytes of the window that `run` would take, and returns where it lies;
  /// form() says what becomes of each byte. REQUIRES: the item is of bytes.
  PixelWindow cut(const Pixels& item, uint64_t key, uint64_t position, TransformMemory& memory, uint8_t* out,
                  Annotations* annotations = nullptr) const;
  PixelForm form() const;

  /// Draws of the prototxt's own random_seed (NVIDIA); else those of `seed`.
  uint64_t seed_or(uint64_t seed) const { return own_seed_ >= 0 ? static_cast<uint64_t>(own_seed_) : seed; }

 private:
  void read_crop(const caffe::TransformationParameter& param);
  void read_mean(const caffe::TransformationParameter& param);
  void read_steps(const caffe::TransformationParameter& param, bool takes_patches);
  void check_mean(const Extent& item) const;
  void check_crop(const Extent& whole) const;
  std::optional<Extent> whole_extent(const Extent& item) const;
  Extent window_of(const Extent& item) const;
  PixelRect rect_of(const PixelWindow& window, const Extent& whole) const;
  void draw_steps(uint64_t key, uint64_t position, Drawn& drawn, Annotations* annotations) const;
  void draw_window(uint64_t key, uint64_t position, Drawn& drawn) const;
  void move_to_window(const Drawn& drawn, std::vector<AnnotatedBox>& boxes) const;
  const uint8_t* bytes_of(const Pixels& item, const Drawn& drawn, uint64_t key, uint64_t position,
                          TransformMemory& memory) const;
  template <typename T>
  void write(const T* pixels, const Extent& extent, const PixelWindow& window, float* out) const;

  bool training_, mirror_;  ///< in TEST crops are the middle
  bool is_flow_;            ///< channels are motion to the right and down in turn, 255 - x in the other direction
  float scale_;
  int64_t own_seed_;  ///< random_seed; negative: that of the run
  ColorMode color_mode_;
  int64_t crop_height_ = 0, crop_width_ = 0;  ///< 0: no crop
  Extent mean_extent_;                        // of mean_image_
  std::vector<float> mean_image_;             // empty without a mean file
  std::vector<float> mean_values_;            // empty, one, or one per channel

  std::optional<Distortion> distortion_;
  std::optional<Expansion> expansion_;
  std::optional<RandomSize> random_size_;
  std::optional<ResizePolicy> resize_;
  std::optional<ScaledCrop> scaled_crop_;  ///< in training alone
  std::optional<Noise> noise_;
  BoxRule rule_;             ///< which boxes stay when an image is cut
  bool sizes_vary_ = false;  // what comes before resize_ draws sizes
};

}  // namespace robusta
