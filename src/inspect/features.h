/// What a net computes of each sample, as databases: one for each blob that is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/net.h"

namespace robusta {

struct FeatureOutput {
  std::string blob;
  std::string place;  ///< a database, or an HDF5 file, to make
};

/// Throws Error{kUsage} for a format that is neither "hdf5" nor a kind of database (data/writer_kinds.h).
void require_feature_format(const std::string& format);

/// Runs `batches` batches and writes a record for each sample, key %010d: a Datum of float_data, of the blob's axes
/// behind the first, or a row of the dataset "data". Returns the number of samples. Throws Error{kUsage} for blobs that
/// are not there or have no axis of samples; Error{kOutput}, also where something is at a place already.
/// REQUIRES: NetOptions::keep_blobs.
int64_t extract_features(Net& net, const std::vector<FeatureOutput>& outputs, int64_t batches,
                         const std::string& format);

}  // namespace robusta
