/// Mean images in files: a BlobProto, as compute_image_mean writes it, or an array of numpy (schema/npy_file.h), told
/// by how the file begins.
#pragma once

#include <string>

#include "schema/blob_proto.h"

namespace robusta {

/// A mean image: shape [channels, height, width], or of clips [channels x frames, height, width]. Throws Error{kData}
/// at the path.
BlobData read_mean_file(const std::string& path);

}  // namespace robusta
