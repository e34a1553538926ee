// Places in the original image are pixels: a box ends behind its last one, so that overlaps count whole pixels, as SSD
// does.

#include "layers/types/detection_evaluate/original_images.h"

#include <algorithm>
#include <sstream>

#include "base/input_text.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

float clipped(float place, float end) { return std::clamp(place, 0.0f, end); }

Box<float> scaled(const Box<float>& box, float height, float width) {
  return {box.xmin * width, box.ymin * height, box.xmax * width, box.ymax * height};
}

Box<float> within(const Box<float>& box, float height, float width) {
  return {clipped(box.xmin, width), clipped(box.ymin, height), clipped(box.xmax, width), clipped(box.ymax, height)};
}

}  // namespace

OriginalImages::OriginalImages(const std::string& file, const caffe::DetectionEvaluateParameter& param)
    : resized_(param.has_resize_param()), resize_(param.resize_param()) {
  std::istringstream lines(read_input_text(file, ErrorKind::kData));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name, rest;
    int32_t height = 0, width = 0;
    if (!(words >> name)) continue;
    if (!(words >> height >> width) || words >> rest || height <= 0 || width <= 0) {
      throw Error(ErrorKind::kData, str("\"", line.substr(0, 80), "\" is no name, height and width"),
                  "name_size_file has a line \"name height width\" for each image of the test")
          .at(str(file, ":", number));
    }
    sizes_.push_back({static_cast<float>(height), static_cast<float>(width)});
  }
  if (!sizes_.empty()) return;
  throw Error(ErrorKind::kData, "it has no lines", "give a line \"name height width\" for each image of the test")
      .at(file);
}

Box<float> OriginalImages::unpadded(const Box<float>& box, const Size& size) const {
  const auto height = static_cast<float>(resize_.height()), width = static_cast<float>(resize_.width());
  const float aspect = size.width / size.height;
  // The image fills the middle; what is beside it is padding.
  float x = 0, y = 0;
  if (aspect > width / height) {
    y = (height - width / aspect) / 2 / height;
  } else {
    x = (width - height * aspect) / 2 / width;
  }
  if (box.xmin >= 1 - x || box.xmax <= x || box.ymin >= 1 - y || box.ymax <= y) return box;
  return {(box.xmin - x) / (1 - 2 * x), (box.ymin - y) / (1 - 2 * y), (box.xmax - x) / (1 - 2 * x),
          (box.ymax - y) / (1 - 2 * y)};
}

Box<float> OriginalImages::pixels_of(const Box<float>& box, uint64_t sample) const {
  const Size size = sizes_[sample % sizes_.size()];
  Box<float> pixels;
  const auto mode = resize_.resize_mode();
  if (resized_ && mode == caffe::ResizeParameter::FIT_SMALL_SIZE && resize_.height_scale() > 0 &&
      resize_.width_scale() > 0) {
    const auto height = static_cast<float>(resize_.height_scale()), width = static_cast<float>(resize_.width_scale());
    pixels = within(scaled(box, height, width), size.height, size.width);
  } else {
    const bool padded = resized_ && mode == caffe::ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
    pixels = scaled(within(padded ? unpadded(box, size) : box, 1, 1), size.height, size.width);
  }
  return {pixels.xmin, pixels.ymin, pixels.xmax + 1, pixels.ymax + 1};
}

}  // namespace robusta
