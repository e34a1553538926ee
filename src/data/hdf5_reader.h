/// Rows of HDF5 files that a text file lists, one file behind the other.
///
/// All files are looked at when the list is opened, so that what does not fit is found before training; few of them are
/// open at a time. A record is the floats of its row, dataset after dataset.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/hdf5_access.h"
#include "data/reader.h"

namespace robusta {

class Hdf5Reader : public RecordReader {
 public:
  /// `list` names files, between blanks or ends of lines, from the working directory on. Each has a dataset of these
  /// names. Throws Error{kData} at the list or at a file, Error{kUnsupported} in a build without HDF5.
  Hdf5Reader(const std::string& list, std::vector<std::string> datasets);

  const std::string& source() const override { return list_; }
  int64_t size() const override { return starts_.back(); }
  std::string_view record(int64_t index, std::string& storage) const override;
  std::string key(int64_t index) const override;
  /// The shape of one row of each dataset.
  const std::vector<Shape>& items() const { return items_; }

 private:
  using RowsPtr = std::shared_ptr<const Hdf5Rows>;
  struct Open {
    size_t file;
    RowsPtr rows;
  };

  void look_at(const std::string& file);
  size_t file_of(int64_t index) const;
  RowsPtr open(size_t file) const;
  RowsPtr find_open(size_t file) const;

  std::string list_;
  std::vector<std::string> datasets_, files_;
  std::vector<Shape> items_;
  std::vector<int64_t> starts_{0};  // of each file, in records; then the end
  int64_t row_floats_ = 0;

  mutable std::mutex mutex_;
  mutable std::vector<Open> open_;  // the one used last in front
};

}  // namespace robusta
