/// Small databases made by the tests themselves.
#pragma once

#include <cstdint>
#include <string>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/convert/files.h"
#include "data/image.h"
#include "data/lmdb/lmdb_writer.h"

namespace robusta::test {

/// Noise that is the same for the same key, smoothed so that it compresses like a picture.
inline Image random_image(const Extent& extent, uint64_t key) {
  Image image;
  image.reset(extent);
  PhiloxStream random(key);
  int value = 128;
  for (uint8_t& pixel : image.planes) {
    value = static_cast<int>(value + 255 + random.below(31) - 15) % 255;
    pixel = static_cast<uint8_t>(value);
  }
  return image;
}

/// Raw pixels of random_image.
inline caffe::Datum raw_datum(const Extent& extent, int label, uint64_t key) {
  const Image image = random_image(extent, key);
  caffe::Datum datum;
  datum.set_channels(static_cast<int>(extent.channels));
  datum.set_height(static_cast<int>(extent.height));
  datum.set_width(static_cast<int>(extent.width));
  datum.set_data(image.planes.data(), image.planes.size());
  datum.set_label(label);
  return datum;
}

/// random_image as a file.
inline caffe::Datum encoded_datum(const Extent& extent, int label, uint64_t key, ImageFormat format) {
  caffe::Datum datum;
  datum.set_data(encode_image(random_image(extent, key), format));
  datum.set_label(label);
  datum.set_encoded(true);
  return datum;
}

/// `make(i)` for i in 0..count-1 under keys 00000000, 00000001, ...
template <typename Make>
void write_database(const std::string& folder, int count, const Make& make) {
  LmdbWriter writer(folder);
  for (int i = 0; i < count; ++i) writer.put(padded(i, 8), make(i).SerializeAsString());
  writer.finish();
}

}  // namespace robusta::test
