/// Window files of MS-CNN, and the images that they name (zhaoweicai/mscnn, src/caffe/layers/image_gt_data_layer.cpp).
///
/// For each image: "# <number> <path> <channels> <height> <width>", then how many boxes it has and of each "<class>
/// <ignore> <x1> <y1> <x2> <y2>", then how many regions are not looked at and of each "<x1> <y1> <x2> <y2>", between
/// blanks or ends of lines, all whole numbers. Classes count from 1; ignore is 0, or the box is no example; corners are
/// pixels of the image, and may lie outside of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/named_images.h"
#include "data/reader.h"
#include "ops/boxes.h"

namespace robusta {

struct ImageObject {
  int32_t label = 0;
  bool ignored = false;  ///< neither an example nor background
  Box<float> box{};
};

/// What is in an image.
struct ImageObjects {
  std::vector<ImageObject> objects;
  std::vector<Box<float>> unseen;  ///< regions that are not looked at
};

/// A record is an image file. One with a box that is not ignored may count several times in a row.
class ObjectFileReader : public RecordReader {
 public:
  /// `root` is put before each path as it is; `times`: how often images with such a box count; `keep`: image files stay
  /// in memory once they are read. Throws Error{kData} at the line of the file.
  ObjectFileReader(const std::string& file, std::string root, uint32_t times, bool keep);

  const std::string& source() const override { return file_; }
  int64_t size() const override { return ends_.back(); }
  std::string_view record(int64_t index, std::string& storage) const override {
    return images_.bytes(image(index), storage);
  }
  /// "photos/cat.jpg".
  std::string key(int64_t index) const override { return images_.path(image(index)); }
  const ImageObjects& objects(int64_t index) const { return objects_[image(index)]; }
  /// What the file says of its last image.
  int64_t last_height() const { return height_; }
  int64_t last_width() const { return width_; }

 private:
  size_t image(int64_t index) const;

  std::string file_;
  NamedImages images_;
  std::vector<ImageObjects> objects_;  // by image
  std::vector<int64_t> ends_;          // by image: the record behind its last one
  int64_t height_ = 0, width_ = 0;     // pixels of the last image, as the file says
};

}  // namespace robusta
