// An image after the other, each with its boxes.

#include "data/object_file.h"

#include <algorithm>

#include "base/str.h"
#include "data/window_words.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr char kObjectFix[] =
    "write \"# number path channels height width\" for each image, the number of its boxes and \"class ignore x1 y1 x2 "
    "y2\" of each, the number of regions that are not looked at and \"x1 y1 x2 y2\" of each";

Box<float> read_box(WindowWords& words) {
  float corners[4];
  for (float& corner : corners) {
    corner = static_cast<float>(words.whole("corner of a box", -WindowWords::kMostSide, WindowWords::kMostSide));
  }
  const auto [x1, y1, x2, y2] = corners;
  if (x1 > x2 || y1 > y2) words.fail("the box ends before it begins");
  return {x1, y1, x2, y2};
}

ImageObjects read_objects(WindowWords& words) {
  ImageObjects image;
  const int64_t boxes = words.whole("number of boxes", 0, INT64_MAX);
  for (int64_t i = 0; i < boxes; ++i) {
    ImageObject object;
    object.label = static_cast<int32_t>(words.whole("class above 0", 1, INT32_MAX));
    object.ignored = words.whole("0 or 1 for a box that is ignored", INT32_MIN, INT32_MAX) != 0;
    object.box = read_box(words);
    image.objects.push_back(object);
  }
  const int64_t regions = words.whole("number of regions that are not looked at", 0, INT64_MAX);
  for (int64_t i = 0; i < regions; ++i) image.unseen.push_back(read_box(words));
  return image;
}

}  // namespace

ObjectFileReader::ObjectFileReader(const std::string& file, std::string root, uint32_t times, bool keep)
    : file_(file), images_(file, std::move(root), keep) {
  WindowWords words(file, kObjectFix);
  int64_t end = 0;
  while (words.next()) {
    if (!words.is("#")) words.fail("an image begins with #");
    words.whole("number of an image", 0, INT64_MAX);
    const std::string path(words.word("the path of the image"));
    images_.add(path, words.line());
    words.whole("number of channels", 1, WindowWords::kMostSide);
    height_ = words.whole("height", 1, WindowWords::kMostSide);
    width_ = words.whole("width", 1, WindowWords::kMostSide);
    objects_.push_back(read_objects(words));
    const bool counts = std::ranges::any_of(objects_.back().objects, [](const ImageObject& o) { return !o.ignored; });
    end += counts ? times : 1;
    ends_.push_back(end);
  }
  if (end > 0) return;
  throw Error(ErrorKind::kData, "the file names no image", kObjectFix).at(file);
}

size_t ObjectFileReader::image(int64_t index) const {
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
}

}  // namespace robusta
