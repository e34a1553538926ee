/// Arrays as numpy.save writes them (.npy): scripts keep mean images so, since pycaffe takes arrays and no mean files.
#pragma once

#include <string>
#include <string_view>

#include "schema/blob_proto.h"

namespace robusta {

/// Whether a file that begins like this is one of numpy's arrays.
bool is_npy(std::string_view beginning);

/// The array in the bytes of a whole file: little-endian f16, f32 or f64, or bytes, in the order of C. Throws
/// Error{kData} for what is cut, longer than its shape says, or of another type; memory is taken for what the file has,
/// not for what its shape claims.
BlobData parse_npy(const std::string& file);

}  // namespace robusta
