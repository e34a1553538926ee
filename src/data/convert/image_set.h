/// A list of image files made into a database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/convert/image_datum.h"

namespace robusta {

struct ImageListItem {
  std::string path;
  int32_t label = 0;  ///< the last word of the line
};

/// Reads "path label" lines as Caffe does: the last blank separates; the label is the number that the rest begins with
/// (0 if none); a line without a blank serves as both. Throws Error{kData} when it cannot be read.
std::vector<ImageListItem> read_image_list(const std::string& path);

struct ImageSetOptions {
  std::string root;              ///< put before each path, without a separator
  std::string list;              ///< a file of lines "path label"
  std::string folder;            ///< database to make
  std::string backend = "lmdb";  ///< its kind (writer_kinds.h)
  bool shuffle = false;
  uint64_t seed = 1;        ///< of the shuffle
  bool check_size = false;  ///< all images must have the size of the first
  ImageDatumOptions image;
};

struct ImageSetResult {
  int64_t written = 0, skipped = 0;  ///< records; images that could not be read
};

/// Key: "%08d_" and the path as listed; the number is the place in the (shuffled) list, so an image that cannot be read
/// leaves a gap; it is logged and skipped. Decodes on all threads of OpenMP. Throws Error{kData} when no image can be
/// read or the sizes differ under check_size, Error{kOutput}; then there is no folder.
ImageSetResult convert_image_set(const ImageSetOptions& options);

}  // namespace robusta
