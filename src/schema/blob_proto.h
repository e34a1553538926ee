/// Arrays in files: BlobProto to and from plain vectors, whole messages on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caffe.pb.h"
#include "robusta/error.h"

namespace robusta {

/// An array from a file. INVARIANT: data.size() is the product of `shape` (1 for no axes).
struct BlobData {
  std::vector<int64_t> shape;  ///< no axes: a scalar
  bool legacy_dims = false;    ///< the shape was given as num, channels, height, width
  std::vector<float> data;
};

/// Number of elements. Throws Error{kModel} for a negative length or a product beyond 2^62.
int64_t checked_count(const std::vector<int64_t>& shape);

/// Throws Error{kModel} unless the number of values is that of the shape.
void require_full(const BlobData& blob);

/// Whether an array from a file fits a parameter of shape `target`. Legacy shapes have always 4 axes, or 5: a target of
/// fewer is aligned to the right, so [N, K] equals (1, 1, N, K). Any other shape must be identical.
bool same_shape(const BlobData& blob, const std::vector<int64_t>& target);

/// Reads `data`, `double_data` (wins) or NVIDIA's `raw_data`, converted to float; any num, channels, height, width
/// makes the shape a legacy one. Throws Error{kModel} when shape and number of values disagree.
BlobData blob_from_proto(const caffe::BlobProto& proto);

/// Shape and float `data`, the form that every Caffe reads.
void blob_to_proto(const std::vector<int64_t>& shape, const float* data, caffe::BlobProto* proto);

/// Appends the values of `bytes`, little-endian elements of NVIDIA's `type`. Throws Error{kModel} for a length that is
/// no whole number of elements, Error{kUnsupported} for an integer type.
void append_raw(caffe::Type type, const std::string& bytes, std::vector<float>* values);

/// The array of a file that holds one. `what` it should be, for messages: "mean image". Throws Error{kData} at the
/// path.
BlobData read_array_file(const std::string& path, std::string_view what);

/// Parses a whole binary file. Throws Error{kind} at the path: absent, a folder, 2 GiB or more, cut or foreign.
void read_binary_proto(const std::string& path, google::protobuf::Message* message, ErrorKind kind);

/// Writes a message in one piece or not at all (base/atomic_file.h). Throws Error{kOutput}; a message of 2 GiB or more
/// is refused before anything is written, as no protobuf reader could read it.
void write_binary_proto(const std::string& path, const google::protobuf::Message& message);

}  // namespace robusta
