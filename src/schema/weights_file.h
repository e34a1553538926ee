/// Weights from and to .caffemodel files of any generation and fork.
///
/// A file is one NetParameter. Reading walks over the bytes and takes only names, types and arrays; everything else is
/// skipped by its wire type, so the numbers at which the forks disagree cannot break it, and no array exists twice in
/// memory. Every length is checked against the file before memory is taken for it.
#pragma once

#include <string>
#include <vector>

#include "schema/blob_proto.h"

namespace robusta {

struct LayerWeights {
  std::string name;
  std::string type;  ///< in the newest form, "Convolution"; "" when the file gives none
  std::vector<BlobData> blobs;
};

struct WeightsFile {
  std::string net_name;
  std::vector<LayerWeights> layers;  ///< in the order of the file; names may repeat
  /// Arrays that belong to another layer are absent, and empty where others of their layer follow (HDF5).
  bool leaves_out_shared = false;
};

/// Reads what protobuf has written; HDF5 files are read by their own format (solver/files/formats). Throws
/// Error{kModel} at the path: absent, cut, no weights file (a solver state, a text file, ...); Error{kUnsupported} for
/// HDF5.
///
/// A BatchNorm of five arrays whose last has one element is in the order of NVIDIA's first version (scale, bias, mean,
/// variance, factor) and is put into (mean, variance, factor, scale, bias). NVIDIA also divides by the factor here; we
/// leave the values as they are, as the layer itself divides.
WeightsFile read_weights(const std::string& path);

/// Does this to one layer of a file of another format, which may not give its type.
void order_batch_norm(LayerWeights* layer);

/// Writes `net` (name and layers with their arrays) in one piece. Throws Error{kOutput}, also at 2 GiB and above.
void write_weights(const std::string& path, const caffe::NetParameter& net);

}  // namespace robusta
