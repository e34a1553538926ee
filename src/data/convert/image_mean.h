/// The mean image of a database.
#pragma once

#include <string>
#include <vector>

#include "data/pixels.h"
#include "data/reader.h"

namespace robusta {

struct ImageMean {
  Extent extent;                      ///< of every record
  std::vector<float> values;          ///< C x H x W
  std::vector<float> channel_values;  ///< the mean of each channel
};

/// The mean over all records, which must all have the size of the first; image files are decoded as they are stored.
/// Summed in double (Caffe: float), so it stays exact for millions of records. Throws Error{kData} naming the record.
ImageMean image_mean(const RecordReader& reader);

/// Writes it as Caffe does: a BlobProto with num 1, channels, height, width. Throws Error{kOutput}.
void write_image_mean(const ImageMean& mean, const std::string& path);

}  // namespace robusta
