/// Datasets of HDF5 files that are not trusted: what one claims has to fit the file before memory is taken for it, and
/// neither links nor pieces in other files are followed.
///
/// All of it within a scope of libhdf5 (hdf5_library.h), closing too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_file.h"
#include "data/hdf5/hdf5_library.h"

namespace robusta {

/// A file that is open for reading, with the kind of its errors.
struct Hdf5File {
  std::string path;
  ErrorKind kind = ErrorKind::kData;
  InputFile input;
  Hdf5Id id;

  int64_t size() const { return input.info.st_size; }
  /// Whether values of so many bytes can be packed in it.
  bool may_hold(int64_t bytes) const;
  [[noreturn]] void refuse(const std::string& cause, const std::string& fix = "write the file anew") const;
};

/// `input` is already open, since opening it may take time. Throws Error{kind} where libhdf5 finds no HDF5 file.
Hdf5File open_hdf5_file(const std::string& path, ErrorKind kind, InputFile input);

struct Hdf5Dataset {
  /// Where floats or doubles lie that can be read without libhdf5.
  struct Piece {
    int64_t offset = 0;
    bool doubles = false;
  };

  std::string name;
  Hdf5Id id;
  std::vector<int64_t> dims;
  std::optional<Piece> piece;
};

/// Properties for opening objects by name that refuse links into other files, which may lead to a FIFO, or out of what
/// the user has given.
Hdf5Id without_foreign_links(hid_t property_class);

/// Opens what holds numbers. `first_axis`: that from which on all is read at once, which has to be possible; `unit` is
/// what this is called. Throws Error{file.kind} at the path.
Hdf5Dataset open_dataset(const Hdf5File& file, const std::string& name, size_t first_axis, std::string_view unit);

}  // namespace robusta
