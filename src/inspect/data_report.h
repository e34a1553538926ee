/// What is in a database, and what is wrong with it.
///
/// LMDB and LevelDB folders of Datum or AnnotatedDatum records, lists of images with labels, HDF5 files and lists of
/// them, and arrays such as mean images. Every record is read and decoded once, on all threads; nothing in it is
/// trusted. What is counted takes some 30 bytes per record.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace robusta {

struct DataReportOptions {
  int64_t show = 5;       ///< records that are listed one by one, from the first on
  std::string root = {};  ///< put before each path of an image list, as it is
  std::string png = {};   ///< folder that pictures of those records are written into; "": none are
};

/// Writes the report; returns false where records are broken, which are counted and the first ones named. Throws
/// Error{kData} for what cannot be read at all, Error{kOutput} for pictures that cannot be written.
bool print_data_report(std::ostream& out, const std::string& path, const DataReportOptions& options);

}  // namespace robusta
