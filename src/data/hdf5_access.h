/// HDF5 files by rows, for who does not know libhdf5, which a build may lack: who does know it registers itself.
///
/// A row is what belongs to one index of a dataset's first axis. All functions throw Error: kData for what is read,
/// kOutput for what is written, kUnsupported in a build without HDF5; each names the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace robusta {

/// Some datasets of one file, which have equally many rows. Immutable; any thread may read.
class Hdf5Rows {
 public:
  virtual ~Hdf5Rows() = default;
  virtual int64_t rows() const = 0;
  /// What one row of each dataset is, in the order in which they were asked for. None is empty.
  virtual const std::vector<Shape>& items() const = 0;
  /// Writes row 0 <= `row` < rows() of each dataset, one behind the other, as floats.
  virtual void read(int64_t row, float* out) const = 0;
};

/// A file that grows. For one thread.
class Hdf5Appender {
 public:
  virtual ~Hdf5Appender() = default;
  /// Adds rows behind those of the dataset, which is made the first time, and gives all to the system. `values` is f32
  /// or f64, plain, in memory of the host; its rows are like those before.
  virtual void append(const std::string& dataset, const Tensor& values) = 0;
};

struct Hdf5Access {
  std::unique_ptr<const Hdf5Rows> (*open)(const std::string& path, const std::vector<std::string>& datasets);
  /// Begins with an empty file, whatever was there.
  std::unique_ptr<Hdf5Appender> (*create)(const std::string& path);
  /// The names of the datasets of a file, those in groups left out.
  std::vector<std::string> (*datasets)(const std::string& path);
};

/// True, for initialising a static.
bool register_hdf5(const Hdf5Access& access);
/// Throws Error{kUnsupported} in a build without HDF5.
const Hdf5Access& hdf5_access();

}  // namespace robusta
