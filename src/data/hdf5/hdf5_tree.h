/// HDF5 files of named groups that hold a few whole arrays, such as models and states of trainings.
///
/// Names are paths: "/data/conv1/0". A reader does not trust its file (hdf5_dataset.h). For one thread each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/hdf5/hdf5_dataset.h"

namespace robusta {

/// What a group has: another group, or an array.
struct Hdf5Member {
  std::string name;
  bool is_group;
};

/// All functions throw Error{kModel} at the path.
class Hdf5TreeReader {
 public:
  explicit Hdf5TreeReader(const std::string& path);
  ~Hdf5TreeReader();
  Hdf5TreeReader(const Hdf5TreeReader&) = delete;
  Hdf5TreeReader& operator=(const Hdf5TreeReader&) = delete;

  bool has(const std::string& path) const;
  /// In the order of their names. What is neither group nor array, or lies in another file, is left out.
  std::vector<Hdf5Member> members(const std::string& group) const;

  struct Array {
    std::vector<int64_t> shape;  ///< empty for a single number
    std::vector<float> values;
  };
  Array array(const std::string& path) const;
  /// An array of one integer, or a single one.
  int64_t integer(const std::string& path) const;
  /// Of one byte each, in an array of one axis.
  std::string bytes(const std::string& path) const;
  /// A single string, of fixed or of variable length.
  std::string text(const std::string& path) const;
  /// Says what is wrong with it.
  [[noreturn]] void refuse(const std::string& cause, const std::string& fix) const { file_.refuse(cause, fix); }

 private:
  Hdf5File file_;
  mutable int64_t bytes_read_ = 0;  // of all arrays, which whoever asks may keep
};

/// Keeps the file in memory until it is asked for, so that a disk's faults are met by our own writing, and never by
/// libhdf5. Parents of what is added are made. All functions throw Error{kOutput}.
class Hdf5TreeWriter {
 public:
  Hdf5TreeWriter();
  ~Hdf5TreeWriter();
  Hdf5TreeWriter(const Hdf5TreeWriter&) = delete;
  Hdf5TreeWriter& operator=(const Hdf5TreeWriter&) = delete;

  void add_group(const std::string& path);
  void add_array(const std::string& path, const std::vector<int64_t>& shape, const float* values);
  /// Arrays of one number.
  void add_integer(const std::string& path, int32_t value);
  void add_float(const std::string& path, float value);
  void add_bytes(const std::string& path, const std::string& bytes);
  void add_text(const std::string& path, const std::string& text);

  /// The bytes of the file as it is now.
  std::vector<char> image() const;

 private:
  void add(const std::string& path, const std::vector<hsize_t>& dims, hid_t type, hid_t memory_type, const void* data);

  Hdf5Id file_, parents_;
};

}  // namespace robusta
