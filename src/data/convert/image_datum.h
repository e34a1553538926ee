/// Image files made into Datums: read, resized, stored as pixels or as files.
///
/// Immutable; `convert` may be called from many threads.
#pragma once

#include <cstdint>
#include <string>

#include "caffe.pb.h"
#include "data/image.h"

namespace robusta {

struct ImageDatumOptions {
  bool gray = false;                            ///< one channel; else three, B, G, R
  int64_t resize_height = 0, resize_width = 0;  ///< only when both are positive
  int64_t min_dim = 0, max_dim = 0;             ///< keep proportions; where one is set the two above do not count
  bool encoded = false;                         ///< store image files instead of pixels
  std::string encode_type;                      ///< "jpg", "png"; not empty: as `encoded`. Empty: by each file's name
};

class ImageToDatum {
 public:
  /// Throws Error{kUsage} for a size that is too large, Error{kUnsupported} for an unknown type.
  explicit ImageToDatum(const ImageDatumOptions& options);

  struct Result {
    caffe::Datum datum;  ///< without a label; a stored file without sizes, as in BVLC's Caffe
    Extent extent;       ///< of what is stored
    Extent original;     ///< of the file
  };

  /// Throws Error{kData, kUnsupported}.
  Result convert(const std::string& path) const;

 private:
  bool resizes() const;
  Extent resized(const Extent& image) const;
  std::string encode(const std::string& path, const std::string& file, const Image& image) const;

  ImageDatumOptions options_;  ///< `encoded` is set where a type of encoding is given
};

}  // namespace robusta
