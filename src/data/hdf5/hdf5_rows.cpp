// Rows of datasets of an HDF5 file.
//
// Floats and doubles that lie in one piece, as h5py and Caffe's tools write them, are read where they lie, by any
// thread at once; what is chunked, packed or of another type goes through libhdf5.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/str.h"
#include "data/hdf5/hdf5_appender.h"
#include "data/hdf5/hdf5_dataset.h"
#include "data/hdf5/hdf5_tree.h"
#include "data/hdf5_access.h"

namespace robusta {
namespace {

class LibHdf5Rows : public Hdf5Rows {
 public:
  LibHdf5Rows(const std::string& path, const std::vector<std::string>& names) {
    InputFile input = open_input_file(path, ErrorKind::kData);
    const Hdf5Scope scope;
    try {
      file_ = open_hdf5_file(path, ErrorKind::kData, std::move(input));
      open(names);
    } catch (...) {
      close();
      throw;
    }
  }
  ~LibHdf5Rows() override {
    const Hdf5Scope scope;
    close();
  }

  int64_t rows() const override { return datasets_[0].dims[0]; }
  const std::vector<Shape>& items() const override { return items_; }

  void read(int64_t row, float* out) const override {
    for (size_t i = 0; i < datasets_.size(); ++i) {
      datasets_[i].piece ? read_piece(i, row, out) : read_by_library(i, row, out);
      out += items_[i].count();
    }
  }

 private:
  void open(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      datasets_.push_back(open_dataset(file_, name, 1, "samples"));
      Hdf5Dataset& dataset = datasets_.back();
      if (dataset.piece) dataset.id.reset();
      items_.emplace_back(std::vector<int64_t>(dataset.dims.begin() + 1, dataset.dims.end()));
      if (dataset.dims[0] == rows()) continue;
      file_.refuse(str("dataset \"", name, "\" has ", dataset.dims[0], " samples, \"", names[0], "\" has ", rows()),
                   "write as many of each");
    }
    const bool by_library = std::ranges::any_of(datasets_, [](const Hdf5Dataset& dataset) { return !dataset.piece; });
    if (!by_library) file_.id.reset();
  }

  void close() {
    datasets_.clear();
    file_.id.reset();
  }

  [[noreturn]] void fail(size_t i, int64_t row, const std::string& why) const {
    file_.refuse(str("row ", row, " of dataset \"", datasets_[i].name, "\" cannot be read: ", why));
  }

  void read_piece(size_t i, int64_t row, float* out) const {
    const int64_t count = items_[i].count();
    if (!datasets_[i].piece->doubles) return read_bytes(i, row, out, static_cast<size_t>(count) * sizeof(float));
    thread_local std::vector<double> values;
    values.resize(static_cast<size_t>(count));
    read_bytes(i, row, values.data(), values.size() * sizeof(double));
    std::ranges::transform(values, out, [](double value) { return static_cast<float>(value); });
  }

  void read_bytes(size_t i, int64_t row, void* to, size_t bytes) const {
    const int64_t begin = datasets_[i].piece->offset + row * static_cast<int64_t>(bytes);
    size_t have = 0;
    while (have < bytes) {
      const ssize_t got = ::pread(file_.input.descriptor.get(), static_cast<char*>(to) + have, bytes - have,
                                  begin + static_cast<int64_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(i, row, std::strerror(errno));
      if (got == 0) fail(i, row, "the file has been cut off");
      have += static_cast<size_t>(got);
    }
  }

  void read_by_library(size_t i, int64_t row, float* out) const {
    const Hdf5Scope scope;
    const Hdf5Dataset& dataset = datasets_[i];
    const int axes = items_[i].axes() + 1;
    std::vector<hsize_t> start(static_cast<size_t>(axes)), count(static_cast<size_t>(axes), 1);
    start[0] = static_cast<hsize_t>(row);
    for (size_t axis = 1; axis < count.size(); ++axis) count[axis] = static_cast<hsize_t>(dataset.dims[axis]);
    const Hdf5Id space(H5Dget_space(dataset.id.get()), H5Sclose);
    const Hdf5Id memory(H5Screate_simple(axes, count.data(), nullptr), H5Sclose);
    const bool read =
        space && memory &&
        H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
        H5Dread(dataset.id.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, out) >= 0;
    if (!read) fail(i, row, hdf5_reason());
  }

  Hdf5File file_;  // its id is closed where all is read in pieces
  std::vector<Hdf5Dataset> datasets_;
  std::vector<Shape> items_;
};

std::unique_ptr<const Hdf5Rows> open_rows(const std::string& path, const std::vector<std::string>& datasets) {
  return std::make_unique<LibHdf5Rows>(path, datasets);
}

/// Hdf5TreeReader's errors are those of models.
std::vector<std::string> list_datasets(const std::string& path) {
  std::vector<std::string> names;
  try {
    for (const Hdf5Member& member : Hdf5TreeReader(path).members("/")) {
      if (!member.is_group) names.push_back(member.name);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kModel) throw;
    throw Error(ErrorKind::kData, error.cause(), error.fix()).at(path);
  }
  return names;
}

[[maybe_unused]] const bool registered_hdf5 = register_hdf5({open_rows, create_hdf5, list_datasets});

}  // namespace
}  // namespace robusta
