/// The file driver of libhdf5 for all files on disks: to the library, writing never fails.
///
/// libhdf5 1.10 keeps the id of a file whose closing has failed together with an object that it has freed, and the
/// process crashes when it ends (H5F_term_package goes over all ids). Closing fails where there is no room for what the
/// library still holds. So from the first write that fails on, what the file's own structure needs is kept in memory
/// until the file is closed, and whoever writes asks here for the error after each flush. The disk then keeps what was
/// flushed before.
#pragma once

#include "data/hdf5/hdf5_api.h"

namespace robusta {

/// Chooses the driver for the files that are opened with this list of properties. Within a scope.
void use_hdf5_driver(hid_t access_properties);

/// The errno of the first write to this file that failed; 0 if none did. Within a scope.
int hdf5_write_error(hid_t file);

}  // namespace robusta
