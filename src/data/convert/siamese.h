/// Pairs of handwritten digits, for siamese nets.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// Writes as many pairs as there are images to a new database (`backend`: writer_kinds.h): both drawn at random by
/// `seed`, a Datum of 2 x rows x cols with label 1 where the digits are the same, 0 else, under key %08d. Returns their
/// number. Throws Error{kData, kOutput}; then there is no folder.
int64_t convert_mnist_pairs(const std::string& image_file, const std::string& label_file, const std::string& folder,
                            uint64_t seed, const std::string& backend = "lmdb");

}  // namespace robusta
