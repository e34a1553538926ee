/// libhdf5's functions and constants, found by name when they are first used.
///
/// Debian's libhdf5 brings thirty libraries with it (curl, TLS, Kerberos: it can read from object stores), which would
/// take longer to load than all others together, at every start of every command. So it is loaded with the first HDF5
/// file (base/late_library.h says how its names are used).
#pragma once

#include <hdf5.h>
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // since 1.13: what <hdf5.h> had of file drivers before
#endif

#include "base/late_library.h"

namespace robusta {

/// Address of a symbol of libhdf5. Throws Error{kUnsupported} where the library or the symbol is not on this machine.
void* find_in_hdf5(const char* symbol);

/// The id of a type or of a class of properties, which H5open() sets.
class LateId {
 public:
  constexpr explicit LateId(const char* name) : symbol_(name) {}
  operator hid_t() const { return *static_cast<const hid_t*>(symbol_.address()); }

 private:
  LateSymbol<find_in_hdf5> symbol_;
};

#define ROBUSTA_HDF5_FUNCTION(name) ROBUSTA_LATE_FUNCTION(find_in_hdf5, name)
#define ROBUSTA_HDF5_ID(name) \
  inline constinit const LateId name { ROBUSTA_TEXT_OF(name) }

ROBUSTA_HDF5_FUNCTION(H5Dclose);
ROBUSTA_HDF5_FUNCTION(H5Dcreate2);
ROBUSTA_HDF5_FUNCTION(H5Dget_create_plist);
ROBUSTA_HDF5_FUNCTION(H5Dget_offset);
ROBUSTA_HDF5_FUNCTION(H5Dget_space);
ROBUSTA_HDF5_FUNCTION(H5Dget_type);
ROBUSTA_HDF5_FUNCTION(H5Dopen2);
ROBUSTA_HDF5_FUNCTION(H5Dread);
ROBUSTA_HDF5_FUNCTION(H5Dset_extent);
ROBUSTA_HDF5_FUNCTION(H5Dwrite);
ROBUSTA_HDF5_FUNCTION(H5Eget_auto2);
ROBUSTA_HDF5_FUNCTION(H5Eset_auto2);
ROBUSTA_HDF5_FUNCTION(H5Ewalk2);
ROBUSTA_HDF5_FUNCTION(H5FDregister);
ROBUSTA_HDF5_FUNCTION(H5Fclose);
ROBUSTA_HDF5_FUNCTION(H5Fcreate);
ROBUSTA_HDF5_FUNCTION(H5Fflush);
ROBUSTA_HDF5_FUNCTION(H5Fget_file_image);
ROBUSTA_HDF5_FUNCTION(H5Fget_vfd_handle);
ROBUSTA_HDF5_FUNCTION(H5Fopen);
ROBUSTA_HDF5_FUNCTION(H5Gclose);
ROBUSTA_HDF5_FUNCTION(H5Gcreate2);
ROBUSTA_HDF5_FUNCTION(H5Gget_info);
ROBUSTA_HDF5_FUNCTION(H5Gopen2);
ROBUSTA_HDF5_FUNCTION(H5Iget_type);
ROBUSTA_HDF5_FUNCTION(H5Lexists);
ROBUSTA_HDF5_FUNCTION(H5Lget_name_by_idx);
ROBUSTA_HDF5_FUNCTION(H5Literate);
ROBUSTA_HDF5_FUNCTION(H5Oclose);
ROBUSTA_HDF5_FUNCTION(H5Oopen);
ROBUSTA_HDF5_FUNCTION(H5Pclose);
ROBUSTA_HDF5_FUNCTION(H5Pcreate);
ROBUSTA_HDF5_FUNCTION(H5Pget_chunk);
ROBUSTA_HDF5_FUNCTION(H5Pget_external_count);
ROBUSTA_HDF5_FUNCTION(H5Pget_layout);
ROBUSTA_HDF5_FUNCTION(H5Pset_chunk);
ROBUSTA_HDF5_FUNCTION(H5Pset_chunk_cache);
ROBUSTA_HDF5_FUNCTION(H5Pset_create_intermediate_group);
ROBUSTA_HDF5_FUNCTION(H5Pset_driver);
ROBUSTA_HDF5_FUNCTION(H5Pset_elink_cb);
ROBUSTA_HDF5_FUNCTION(H5Pset_fapl_core);
ROBUSTA_HDF5_FUNCTION(H5Pset_file_locking);
ROBUSTA_HDF5_FUNCTION(H5Sclose);
ROBUSTA_HDF5_FUNCTION(H5Screate);
ROBUSTA_HDF5_FUNCTION(H5Screate_simple);
ROBUSTA_HDF5_FUNCTION(H5Sget_simple_extent_dims);
ROBUSTA_HDF5_FUNCTION(H5Sget_simple_extent_ndims);
ROBUSTA_HDF5_FUNCTION(H5Sget_simple_extent_npoints);
ROBUSTA_HDF5_FUNCTION(H5Sis_simple);
ROBUSTA_HDF5_FUNCTION(H5Sselect_hyperslab);
ROBUSTA_HDF5_FUNCTION(H5Tclose);
ROBUSTA_HDF5_FUNCTION(H5Tcopy);
ROBUSTA_HDF5_FUNCTION(H5Tequal);
ROBUSTA_HDF5_FUNCTION(H5Tget_class);
ROBUSTA_HDF5_FUNCTION(H5Tget_size);
ROBUSTA_HDF5_FUNCTION(H5Tis_variable_str);
ROBUSTA_HDF5_FUNCTION(H5Tset_size);
ROBUSTA_HDF5_FUNCTION(H5free_memory);
ROBUSTA_HDF5_FUNCTION(H5open);
ROBUSTA_HDF5_ID(H5P_CLS_FILE_ACCESS_ID_g);
ROBUSTA_HDF5_ID(H5P_CLS_DATASET_ACCESS_ID_g);
ROBUSTA_HDF5_ID(H5P_CLS_DATASET_CREATE_ID_g);
ROBUSTA_HDF5_ID(H5P_CLS_GROUP_ACCESS_ID_g);
ROBUSTA_HDF5_ID(H5P_CLS_LINK_ACCESS_ID_g);
ROBUSTA_HDF5_ID(H5P_CLS_LINK_CREATE_ID_g);
ROBUSTA_HDF5_ID(H5T_C_S1_g);
ROBUSTA_HDF5_ID(H5T_IEEE_F32LE_g);
ROBUSTA_HDF5_ID(H5T_IEEE_F64LE_g);
ROBUSTA_HDF5_ID(H5T_NATIVE_DOUBLE_g);
ROBUSTA_HDF5_ID(H5T_NATIVE_FLOAT_g);
ROBUSTA_HDF5_ID(H5T_NATIVE_INT32_g);
ROBUSTA_HDF5_ID(H5T_NATIVE_INT64_g);
ROBUSTA_HDF5_ID(H5T_NATIVE_UCHAR_g);
ROBUSTA_HDF5_ID(H5T_STD_I32LE_g);
ROBUSTA_HDF5_ID(H5T_STD_U8LE_g);

/// Macros of <hdf5.h> call it, and libhdf5's own ends the process where header and library are of different releases.
/// The library's soname says already whether they go together.
inline herr_t H5check_version(unsigned, unsigned, unsigned) { return 0; }

#undef ROBUSTA_HDF5_ID
#undef ROBUSTA_HDF5_FUNCTION

}  // namespace robusta
