/// What sources of image files say of their list and of the size of images: the fields that image_data_param and
/// dense_image_data_param have in common. Throws Error{kConfig} in the field that cannot be.
#pragma once

#include <string>

#include "base/str.h"
#include "data/image.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {

struct ListedImages {
  ReadingSettings reading;
  std::string root_folder;
  Extent size;  ///< 3 channels or 1; without height, images keep their size
};

/// `message`: "image_data_param"; `line`: what stands in a line of the list, for messages.
template <typename Param>
ListedImages listed_images(const caffe::LayerParameter& layer, const Param& param, const std::string& message,
                           const std::string& line) {
  const auto fail = [&](const std::string& field, const std::string& cause, const std::string& fix) {
    throw Error(ErrorKind::kConfig, cause, fix).in_field(str(message, ".", field));
  };
  if (param.source().empty()) fail("source", "no source is given", str("name a text file of \"", line, "\" lines"));
  if (param.batch_size() == 0) fail("batch_size", "batch_size is 0", "set it to 1 or more");
  const int64_t height = param.new_height(), width = param.new_width();
  if ((height > 0) != (width > 0)) {
    fail(height > 0 ? "new_width" : "new_height", "new_height and new_width go together", "set both, or neither");
  }
  if (height > 0 && height > kMostPixels / width) {
    fail("new_height", str("images of ", height, " x ", width, " pixels; at most ", kMostPixels), "make them smaller");
  }
  return {.reading = {.source = param.source(),
                      .field = str(message, ".source"),
                      .batch = param.batch_size(),
                      .prefetch = prefetched_batches(layer),
                      .shuffle = param.shuffle(),
                      .skip_below = param.rand_skip()},
          .root_folder = param.root_folder(),
          .size = {param.is_color() ? 3 : 1, height, width}};
}

}  // namespace robusta
