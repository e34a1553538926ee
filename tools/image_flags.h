/// The flags that all programs have which make databases of lists of images.
#pragma once

#include <string>

#include "data/convert/image_datum.h"
#include "run_tool.h"

namespace robusta {

struct ImageFlags : DatabaseFlags {
  Flag<int32_t> min_dim{this, "min_dim", 0, "least short side, in proportion"};
  Flag<int32_t> max_dim{this, "max_dim", 0, "greatest long side, in proportion; goes before min_dim"};
  Flag<bool> gray{this, "gray", false, "read the images as grey ones"};
  Flag<bool> shuffle{this, "shuffle", false, "shuffle the order of the images"};
  Flag<uint64_t> seed{this, "seed", 1, "seed of the shuffle"};
  Flag<int32_t> resize_width{this, "resize_width", 0, "width to resize the images to, with resize_height"};
  Flag<int32_t> resize_height{this, "resize_height", 0, "height to resize the images to, with resize_width"};
  Flag<bool> scaled_jpeg{this, "scaled_jpeg", false,
                         "decode JPEGs that are then made half as large or less to a half, a quarter or an eighth: "
                         "faster, with other pixels than Caffe's"};
  Flag<bool> check_size{this, "check_size", false, "stop when an image differs in size from the first"};
  Flag<bool> encoded{this, "encoded", false, "store the images as files, not as pixels"};
  Flag<std::string> encode_type{this, "encode_type", "",
                                "type of the stored files: png, jpg; default: each as it is named"};

  ImageDatumOptions image() const {
    return {.gray = gray(),
            .resize_height = resize_height(),
            .resize_width = resize_width(),
            .min_dim = min_dim(),
            .max_dim = max_dim(),
            .scaled_jpeg = scaled_jpeg(),
            .encoded = encoded(),
            .encode_type = encode_type()};
  }
};

}  // namespace robusta
