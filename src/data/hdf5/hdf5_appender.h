/// HDF5 files that are written row by row.
#pragma once

#include <memory>
#include <string>

#include "data/hdf5_access.h"

namespace robusta {

/// Hdf5Access::create. Throws Error{kOutput}: the path cannot be written, is no regular file, or is open elsewhere.
std::unique_ptr<Hdf5Appender> create_hdf5(const std::string& path);

}  // namespace robusta
