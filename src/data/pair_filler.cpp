// From the crop and the padding of DeepLab's and PSPNet's Caffe (src/caffe/data_transformer.cpp, TransformImgAndSeg, of
// TheLegendAli/DeepLab-Context and hszhao/PSPNet): an image smaller than the crop lies at its top left.

#include "data/pair_filler.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/str.h"
#include "data/label_map.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr int kHalfBright = 128;  // of binary maps; HED's Caffe divides by 255 and rounds

/// Uniform in 0..n-1 from one word.
int64_t below(uint32_t word, int64_t n) {
  return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(n)) >> 32);
}

/// Where the crop begins in an image, which may be smaller.
int64_t crop_begin(int64_t image, int64_t crop, bool anywhere, uint32_t word) {
  const int64_t room = std::max<int64_t>(image - crop, 0);
  return anywhere ? below(word, room + 1) : room / 2;
}

std::string size_of(const Extent& extent) { return str(extent.height, " x ", extent.width); }

}  // namespace

/// What is random about a sample: the words of Transformer, so that an image is cut as it is without labels.
struct PairFiller::Draw {
  PhiloxBlock words;
  float factor;
};

/// What of an image is seen in a sample.
struct PairFiller::Plane {
  int64_t height, width;             ///< of the sample
  int64_t top, left, rows, columns;  ///< the part of the image that lies at the sample's top left
  bool mirror;
};

std::vector<Shape> PairFiller::shapes(const Extent& out) const {
  std::vector<Shape> tops{{out.channels, out.height, out.width}, {1, out.height, out.width}};
  if (settings_.extents) tops.push_back({1, 1, 2});
  return tops;
}

Extent PairFiller::output(const Extent& whole) const {
  if (!crops()) return whole;
  const bool smaller = whole.height < settings_.crop_height || whole.width < settings_.crop_width;
  if (smaller && !settings_.pads) {
    throw Error(ErrorKind::kData,
                str("the image is ", size_of(whole), " (rows x columns), smaller than the crop of ",
                    settings_.crop_height, " x ", settings_.crop_width),
                "lower the crop size, or set new_height and new_width");
  }
  return {whole.channels, settings_.crop_height, settings_.crop_width};
}

std::vector<Shape> PairFiller::item_shapes(std::string_view record, int64_t) const {
  const Extent stored = image_extent(split_pair(record).image, color_mode());
  const Extent whole = resizes() ? settings_.size : stored;
  numbers_.output(whole);
  // The size of a scaled image is that of its crop.
  return shapes(settings_.scale_factors.empty()
                    ? output(whole)
                    : output({whole.channels, settings_.crop_height, settings_.crop_width}));
}

PairFiller::Draw PairFiller::draw(const Sample& sample) const {
  const uint64_t key = random_key(numbers_.seed_or(sample.seed), settings_.layer, "transform");
  const PhiloxBlock words = philox(key, sample.position, 0);
  const std::vector<float>& factors = settings_.scale_factors;
  const auto which = static_cast<size_t>(below(words[3], static_cast<int64_t>(std::max<size_t>(factors.size(), 1))));
  return {words, factors.empty() ? 1 : factors[which]};
}

Extent PairFiller::scaled(const Extent& image, float factor) const {
  if (factor == 1) return image;
  const float height = std::floor(static_cast<float>(image.height) * factor);
  const float width = std::floor(static_cast<float>(image.width) * factor);
  if (!(height >= 1 && width >= 1 && height * width <= static_cast<float>(kMostPixels))) {
    throw Error(ErrorKind::kData, str("scaled by ", factor, " it has ", height, " x ", width, " pixels"),
                "correct transform_param.scale_factors");
  }
  return {image.channels, static_cast<int64_t>(height), static_cast<int64_t>(width)};
}

void PairFiller::read_image(std::string_view file, Image& image) const {
  thread_local Image decoded;
  if (!resizes()) return decode_image(file, color_mode(), image);
  const auto resized = [this](const Extent&) { return settings_.size; };
  decode_image(file, color_mode(), {.size = scaled_ ? WantedSize(resized) : nullptr, .part = nullptr}, decoded);
  resize_bilinear(decoded.pixels(), settings_.size.height, settings_.size.width, image);
}

/// The map, resized as the image was.
void PairFiller::read_map(std::string_view file, const Extent& image, Image& map) const {
  thread_local Image decoded;
  if (settings_.binary)
    decode_image(file, ColorMode::kGray, decoded);
  else
    decode_label_map(file, decoded);
  const bool fits = decoded.extent.height == image.height && decoded.extent.width == image.width;
  if (!fits && !resizes()) {
    throw Error(ErrorKind::kData,
                str("it is ", size_of(decoded.extent), " (rows x columns), the image ", size_of(image)),
                "make both the same size, or set new_height and new_width");
  }
  if (fits) {
    std::swap(map, decoded);
  } else {
    (settings_.binary ? resize_bilinear : resize_nearest)(decoded.pixels(), image.height, image.width, map);
  }
}

/// Says whose map is not as it should be.
void PairFiller::read_map_of(const Sample& sample, std::string_view file, const Extent& image, Image& map) const {
  try {
    read_map(file, image, map);
  } catch (const Error& error) {
    throw Error(error.kind(), "its map " + pairs_->pair(sample.record).map + ": " + error.cause(), error.fix());
  }
}

PairFiller::Plane PairFiller::plane_of(const Extent& whole, const Draw& drawn) const {
  const Extent out = output(whole);
  return {.height = out.height,
          .width = out.width,
          .top = crop_begin(whole.height, out.height, settings_.training, drawn.words[1]),
          .left = crop_begin(whole.width, out.width, settings_.training, drawn.words[2]),
          .rows = std::min(out.height, whole.height),
          .columns = std::min(out.width, whole.width),
          .mirror = settings_.mirror && (drawn.words[0] & 1)};
}

void PairFiller::check_batch(const Extent& out, const Batch& batch) const {
  const Shape& shape = batch.layout.tops()[0];
  if (shape[1] == out.channels && shape[2] == out.height && shape[3] == out.width) return;
  throw Error(ErrorKind::kData,
              str("it is ", out.str(), ", the first item of its batch is ", shape[1], "x", shape[2], "x", shape[3]),
              "set crop_size, or new_height and new_width, or take batch_size 1");
}

void PairFiller::write_image(const Image& image, const Plane& plane, float* out) const {
  const Extent& item = form_.mean_item;
  for (int64_t c = 0; c < image.extent.channels; ++c) {
    const float mean = form_.means[item.count() == 0 && form_.means.size() > 1 ? static_cast<size_t>(c) : 0];
    for (int64_t y = 0; y < plane.height; ++y, out += plane.width) {
      std::fill_n(out, plane.width, 0.0f);
      const int64_t row = c * image.extent.height + plane.top + y, at = row * image.extent.width + plane.left;
      const float* means = item.count() > 0 ? form_.means.data() + at : nullptr;
      for (int64_t x = 0; y < plane.rows && x < plane.columns; ++x) {
        const auto pixel = static_cast<float>(image.planes[static_cast<size_t>(at + x)]);
        out[x] = (pixel - (means ? means[x] : mean)) * form_.scale;
      }
      if (plane.mirror) std::reverse(out, out + plane.width);
    }
  }
}

/// The bytes of which a device makes what write_image does.
PixelWindow PairFiller::write_pixels(const Image& image, const Plane& plane, uint8_t* out) {
  for (int64_t c = 0; c < image.extent.channels; ++c) {
    for (int64_t y = 0; y < plane.height; ++y, out += plane.width) {
      std::fill_n(out, plane.width, uint8_t{0});
      if (y < plane.rows) std::copy_n(image.row(c, plane.top + y) + plane.left, plane.columns, out);
    }
  }
  return {.top = static_cast<int32_t>(plane.top),
          .left = static_cast<int32_t>(plane.left),
          .mirror = plane.mirror,
          .rows = static_cast<int32_t>(plane.rows),
          .columns = static_cast<int32_t>(plane.columns)};
}

/// `label` is that of all pixels where there are no maps.
void PairFiller::write_labels(const Image& map, int label, const Plane& plane, float* out) const {
  for (int64_t y = 0; y < plane.height; ++y, out += plane.width) {
    std::fill_n(out, plane.width, static_cast<float>(settings_.ignored));
    for (int64_t x = 0; y < plane.rows && x < plane.columns; ++x) {
      const int pixel = has_maps() ? map.row(0, plane.top + y)[plane.left + x] : label;
      out[x] = static_cast<float>(settings_.binary ? pixel >= kHalfBright : pixel);
    }
    if (plane.mirror) std::reverse(out, out + plane.width);
  }
}

void PairFiller::fill(std::string_view record, const Sample& sample, Batch& batch) const {
  thread_local Image image, map, scaled_image, scaled_map;
  const PairView files = split_pair(record);
  read_image(files.image, image);
  numbers_.output(image.extent);
  if (has_maps()) read_map_of(sample, files.map, image.extent, map);
  const Draw drawn = draw(sample);
  const Extent whole = scaled(image.extent, drawn.factor);
  const bool scales = whole != image.extent;
  if (scales) resize_bilinear(image.pixels(), whole.height, whole.width, scaled_image);
  if (scales && has_maps()) resize_nearest(map.pixels(), whole.height, whole.width, scaled_map);

  const Plane plane = plane_of(whole, drawn);
  const int64_t pixels = plane.height * plane.width;
  check_batch({whole.channels, plane.height, plane.width}, batch);
  const int label = pairs_->labels() == PixelLabels::kNone ? settings_.ignored : pairs_->pair(sample.record).label;
  const Image& shown = scales ? scaled_image : image;
  const int64_t place = sample.place * whole.channels * pixels;
  if (batch.layout.pixels())
    batch.windows()[sample.place] = write_pixels(shown, plane, batch.pixel_bytes() + place);
  else
    write_image(shown, plane, batch.numbers(0) + place);
  write_labels(scales ? scaled_map : map, label, plane, batch.numbers(1) + sample.place * pixels);
  if (!settings_.extents) return;
  batch.numbers(2)[2 * sample.place] = static_cast<float>(std::min(image.extent.height, plane.height));
  batch.numbers(2)[2 * sample.place + 1] = static_cast<float>(std::min(image.extent.width, plane.width));
}

int PairFiller::label(std::string_view record, int64_t index) const {
  if (pairs_->labels() == PixelLabels::kNone) return settings_.ignored;
  if (!has_maps()) return pairs_->pair(index).label;
  thread_local Image map;
  decode_label_map(split_pair(record).map, map);
  int largest = -1;
  for (const uint8_t pixel : map.planes) largest = pixel == settings_.ignored ? largest : std::max<int>(largest, pixel);
  return largest < 0 ? settings_.ignored : largest;
}

}  // namespace robusta
