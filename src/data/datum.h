/// Records of the databases that Caffe's tools write: a serialised caffe.Datum each.
///
/// Parsed without copying, straight from the mapped file. A record is not trusted: whatever its bytes are, the result
/// is an item whose size agrees with its content, or an Error.
#pragma once

#include <string_view>
#include <vector>

#include "data/image.h"
#include "data/pixels.h"

namespace robusta {

/// The fields of a Datum. `data` points into the record.
struct DatumView {
  int32_t channels = 0, height = 0, width = 0, label = 0;
  bool encoded = false;  ///< `data` is an image file
  std::string_view data;
};

/// Memory that decoding reuses from item to item. One per thread.
struct DecodeBuffers {
  Image image;
  std::vector<float> floats;
};

/// Reads the fields; float_data goes into `floats`. Throws Error{kData} when the bytes are no Datum.
DatumView parse_datum(std::string_view record, std::vector<float>& floats);

/// The pixels of a Datum: raw bytes in place, encoded images decoded, float_data only when `data` is empty. The view
/// lives until the record or the buffers change. `wanted`: as decode_image has it. Throws Error{kData}: size that is
/// not positive or does not agree with the content, damaged image.
Pixels decode_datum(const DatumView& datum, ColorMode mode, DecodeBuffers& buffers, const WantedPixels& wanted = {});

/// The size that decode_datum would give; of an encoded image only the header is read. Throws as decode_datum.
Extent datum_extent(const DatumView& datum, ColorMode mode, size_t float_count);

}  // namespace robusta
