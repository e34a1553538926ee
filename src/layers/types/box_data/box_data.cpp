// BoxData: images with boxes from a database of Datum records, as YOLO trains on them (Intel). Tops: data [batch,
// channels, height, width], and for each data_param.side the same labels [batch, 150]: the first 30 boxes of an image,
// each a class and middle x, middle y, width, height in parts of the image; zeros follow. A record has its boxes in
// float_data, six numbers each: class, difficult, and the box. In training a part of each image is drawn that has the
// middle of a box in it, and takes the image's place. A reader by the database's kind, a filler for such records; the
// rest is PrefetchedSource's.

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "data/datum.h"
#include "data/item_writer.h"
#include "data/open_source.h"
#include "data/transform/draws.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {
namespace {

constexpr int64_t kMostBoxes = 30, kNumbers = 5, kStored = 6;

/// In parts of the image; x and y are its middle.
struct CentredBox {
  float label, x, y, width, height;
};

[[noreturn]] void wrong_box_data(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field);
}

/// What would move pixels without their boxes.
void check_transform(const caffe::TransformationParameter& transform) {
  const bool pads = std::ranges::any_of(transform.resize_param(), [](const caffe::ResizeParameter& resize) {
    return resize.resize_mode() == caffe::ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
  });
  if (transform.crop_size() == 0 && transform.crop_h() == 0 && transform.crop_w() == 0 && !pads &&
      !transform.has_expand_param() && !transform.has_random_aspect_ratio_param()) {
    return;
  }
  throw Error(ErrorKind::kUnsupported, "the boxes of BoxData go along with mirroring and plain resizing alone",
              "leave out crops, padding, expand_param and random_aspect_ratio_param, or use AnnotatedData")
      .in_field("transform_param");
}

ReadingSettings box_reading(const caffe::LayerParameter& layer) {
  const caffe::DataParameter& param = layer.data_param();
  if (param.source().empty()) wrong_box_data("data_param.source", "no source is given", "name the LMDB folder");
  if (param.batch_size() == 0) wrong_box_data("data_param.batch_size", "batch_size is 0", "set it to 1 or more");
  const int labels = std::max(1, param.side_size());
  if (layer.top_size() > 1 && layer.top_size() - 1 != labels) {
    wrong_box_data("data_param.side",
                   str("there are ", labels, " sides, and ", layer.top_size() - 1, " tops for labels"),
                   "name a top for each side, behind that for the images");
  }
  check_transform(layer.transform_param());
  return {.source = param.source(),
          .field = "data_param.source",
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer),
          .shuffle = param.shuffle()};
}

std::vector<CentredBox> boxes_of(const std::vector<float>& numbers) {
  if (numbers.empty() || numbers.size() % kStored != 0) {
    throw Error(ErrorKind::kData,
                str("float_data has ", numbers.size(), " numbers, not 6 for each box, of at least one"),
                "write class, difficult, x, y, width, height of each box");
  }
  std::vector<CentredBox> boxes;
  for (size_t i = 0; i < numbers.size(); i += kStored) {
    const CentredBox box{numbers[i], numbers[i + 2], numbers[i + 3], numbers[i + 4], numbers[i + 5]};
    const auto in_image = [](float v) { return v >= 0 && v <= 1; };
    if (!(box.label >= 0 && box.label < 1e6f) || !in_image(box.x) || !in_image(box.y) || !in_image(box.width) ||
        !in_image(box.height)) {
      throw Error(ErrorKind::kData,
                  str("box ", i / kStored + 1, " of it is of class ", box.label, ", at ", box.x, ", ", box.y, ", ",
                      box.width, " x ", box.height, "; classes are 0 or more, all else lies in 0 .. 1"),
                  "correct its annotation, and write the database anew");
    }
    boxes.push_back(box);
  }
  return boxes;
}

/// Boxes in the patch of an image: those whose middle lies in it, in whole pixels as in Intel's Caffe.
std::vector<CentredBox> boxes_in(const PixelRect& patch, const Extent& image, const std::vector<CentredBox>& boxes) {
  std::vector<CentredBox> inside;
  const auto pixels = [](float part, int64_t size) { return static_cast<int64_t>(part * static_cast<float>(size)); };
  const auto part = [](int64_t pixels, int64_t size) { return static_cast<float>(pixels) / static_cast<float>(size); };
  for (const CentredBox& box : boxes) {
    const int64_t x = pixels(box.x, image.width) - patch.left, y = pixels(box.y, image.height) - patch.top;
    if (x < 0 || x >= patch.width || y < 0 || y >= patch.height) continue;
    inside.push_back({box.label, part(x, patch.width), part(y, patch.height),
                      part(pixels(box.width, image.width), patch.width),
                      part(pixels(box.height, image.height), patch.height)});
  }
  return inside;
}

/// 70 % to 100 % of the sides, anywhere.
PixelRect draw_patch(const Extent& image, PhiloxStream& draws) {
  const float scale = 1 - static_cast<float>(draws.below(30)) / 100;
  const auto side = [&](int64_t size) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<float>(size) * scale) - 1);
  };
  PixelRect patch{.top = 0, .left = 0, .height = side(image.height), .width = side(image.width)};
  patch.left =
      static_cast<int64_t>(draws.below(static_cast<uint64_t>(std::max<int64_t>(1, image.width - patch.width))));
  patch.top =
      static_cast<int64_t>(draws.below(static_cast<uint64_t>(std::max<int64_t>(1, image.height - patch.height))));
  return patch;
}

class BoxFiller : public RecordFiller {
 public:
  BoxFiller(Transformer transformer, const std::string& layer, bool training, int labels)
      : writer_(std::move(transformer), layer, false, "a resize_param"), training_(training), labels_(labels) {}

  std::vector<Shape> item_shapes(std::string_view record, int64_t) const override {
    const DatumView datum = parse(record);
    std::vector<Shape> shapes = writer_.shapes(datum_extent(datum, color_mode(), buffers().floats.size()));
    shapes.resize(1 + static_cast<size_t>(labels_), Shape{kMostBoxes * kNumbers});
    return shapes;
  }

  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    thread_local Image patch, resized;
    const DatumView datum = parse(record);
    std::vector<CentredBox> boxes = labels_ > 0 ? boxes_of(buffers().floats) : std::vector<CentredBox>{};
    Pixels pixels = decode_datum(datum, color_mode(), buffers());
    if (training_ && labels_ > 0) pixels = take_patch(pixels, sample, boxes, patch, resized);
    writer_.write_image(pixels, sample, batch);
    const auto drawn = writer_.transformer().draw(pixels.extent, writer_.key(sample), sample.position);
    for (int label = 1; label <= labels_; ++label) write_boxes(boxes, drawn.window.mirror, sample.place, batch, label);
  }

  std::optional<PixelForm> pixel_form(std::string_view record) const override {
    parse(record);
    return writer_.transformer().form();
  }

 private:
  static DecodeBuffers& buffers() {
    thread_local DecodeBuffers buffers;
    return buffers;
  }

  ColorMode color_mode() const { return writer_.transformer().color_mode(); }

  static DatumView parse(std::string_view record) {
    const DatumView datum = parse_datum(record, buffers().floats);
    if (!datum.data.empty()) return datum;
    throw Error(ErrorKind::kData, "it has no image: its float_data are boxes", "write the image into data");
  }

  /// A patch with a box in it, as large as the image was; after many attempts without one, the image.
  Pixels take_patch(const Pixels& image, const Sample& sample, std::vector<CentredBox>& boxes, Image& patch,
                    Image& resized) const {
    constexpr int kAttempts = 1000;
    PhiloxStream draws = draws_of(writer_.key(sample), sample.position, DrawnFor::kRegion);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const PixelRect rect = draw_patch(image.extent, draws);
      std::vector<CentredBox> inside = boxes_in(rect, image.extent, boxes);
      if (inside.empty()) continue;
      boxes = std::move(inside);
      take_step({.kind = ImageStep::Kind::kCut, .rect = rect, .height = rect.height, .width = rect.width}, image,
                resized, patch);
      resize_bilinear(patch.pixels(), image.extent.height, image.extent.width, resized);
      return resized.pixels();
    }
    return image;
  }

  static void write_boxes(const std::vector<CentredBox>& boxes, bool mirrored, int64_t place, Batch& batch, int top) {
    float* out = batch.numbers(static_cast<size_t>(top)) + place * kMostBoxes * kNumbers;
    std::fill_n(out, kMostBoxes * kNumbers, 0.0f);
    for (size_t i = 0; i < std::min<size_t>(boxes.size(), kMostBoxes); ++i, out += kNumbers) {
      const CentredBox& box = boxes[i];
      std::ranges::copy(
          std::initializer_list<float>{box.label, mirrored ? 1 - box.x : box.x, box.y, box.width, box.height}, out);
    }
  }

  ItemWriter writer_;
  bool training_;
  int labels_;
};

class BoxDataLayer : public PrefetchedSource {
 public:
  explicit BoxDataLayer(const caffe::LayerParameter& param) : PrefetchedSource(param, box_reading(param)) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 100}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    Transformer transformer(param().transform_param(), training());
    return {open_source(source, param().data_param().backend()),
            std::make_unique<BoxFiller>(std::move(transformer), name(), training(), param().top_size() - 1)};
  }

  AssumedItem assumed_item(const std::string& source) const override {
    return assumed_image(source, param().transform_param());
  }

  /// One box of class 0 in the middle of each image.
  Shape assumed_top(int, int64_t batch) const override { return {batch, kMostBoxes * kNumbers}; }
  float assumed_value(int, int64_t index) const override {
    constexpr float kBox[kNumbers] = {0, 0.5f, 0.5f, 0.4f, 0.4f};
    const int64_t at = index % (kMostBoxes * kNumbers);
    return at < kNumbers ? kBox[at] : 0;
  }
};

ROBUSTA_REGISTER_LAYER("BoxData", BoxDataLayer);

}  // namespace
}  // namespace robusta
