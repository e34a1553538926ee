/// Handwritten digits in the IDX format of the MNIST files.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// Images with labels: image i is bytes i*rows*cols .. of `pixels`.
struct IdxImages {
  int64_t count = 0, rows = 0, cols = 0;
  std::string pixels;
  std::string labels;  ///< a byte each
};

/// Reads a pair of IDX files: images (magic 2051) and labels (2049), big-endian headers. Throws Error{kData}: absent,
/// compressed, of another kind, cut off, or of different lengths.
IdxImages read_idx(const std::string& image_file, const std::string& label_file);

/// Writes them to a new database (`backend`: writer_kinds.h): key %08d, Datum 1 x rows x cols. Returns the number of
/// records. Throws Error{kData, kOutput}; then there is no folder.
int64_t convert_mnist(const std::string& image_file, const std::string& label_file, const std::string& folder,
                      const std::string& backend = "lmdb");

}  // namespace robusta
