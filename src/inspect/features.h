/// What a net computes of each sample, as databases: one for each blob that is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/net.h"

namespace robusta {

struct FeatureOutput {
  std::string blob;
  std::string place;  ///< an LMDB folder, or an HDF5 file, to make
};

enum class FeatureFormat { kLmdb, kHdf5 };

/// From "lmdb", "hdf5" and "leveldb". Throws Error{kUnsupported} for what this build does not write, Error{kUsage} for
/// anything else.
FeatureFormat parse_feature_format(const std::string& word);

/// Runs `batches` batches and writes a record for each sample, key %010d: a Datum of float_data, of the blob's axes
/// behind the first, or a row of the dataset "data". Returns the number of samples. Throws Error{kUsage} for blobs that
/// are not there or have no axis of samples; Error{kOutput}, also where something is at a place already.
/// REQUIRES: NetOptions::keep_blobs.
int64_t extract_features(Net& net, const std::vector<FeatureOutput>& outputs, int64_t batches, FeatureFormat format);

}  // namespace robusta
