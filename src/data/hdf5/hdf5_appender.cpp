// Datasets that grow along their first axis, in chunks of the rows that came first.

#include "data/hdf5/hdf5_appender.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/output_place.h"
#include "base/str.h"
#include "data/hdf5/hdf5_driver.h"
#include "data/hdf5/hdf5_library.h"

namespace robusta {
namespace {

constexpr int64_t kChunkBytes = int64_t{4} << 20;  // unless a single row is larger

constexpr char kMakeRoom[] = "make room on the disk, or write elsewhere";

std::vector<hsize_t> extents_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

class LibHdf5Appender : public Hdf5Appender {
 public:
  explicit LibHdf5Appender(const std::string& path) : path_(path) {
    const OutputPlace place = find_output("cannot write", path);
    if (!place.is_file) throw Error(ErrorKind::kOutput, "this is no regular file", "name a file").at(path);
    const Hdf5Scope scope;
    const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    use_hdf5_driver(access.get());
    file_ = Hdf5Id(H5Fcreate(place.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
    if (!file_) fail("cannot be made", "check the folder; no other program, rank or net may have the file open");
  }
  ~LibHdf5Appender() override {
    const Hdf5Scope scope;
    datasets_.clear();
    file_.reset();
  }

  void append(const std::string& name, const Tensor& values) override {
    const Hdf5Scope scope;
    const Shape& shape = values.desc.shape;
    const hid_t type = values.desc.dtype == DType::kF64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    Dataset& dataset = datasets_[name];
    if (!dataset.id) make(name, values.desc, dataset);
    if (dataset.item != shape.slice(1, shape.axes())) {
      throw Error(
          ErrorKind::kData,
          str("rows of \"", name, "\" are ", shape.slice(1, shape.axes()).str(), ", those before ", dataset.item.str()),
          "give all batches one shape")
          .at(path_);
    }
    write(dataset, shape, type, values.data);
  }

 private:
  struct Dataset {
    Hdf5Id id;
    Shape item;
    hsize_t rows = 0;
  };

  [[noreturn]] void fail(const std::string& what, const std::string& fix = kMakeRoom) const {
    throw Error(ErrorKind::kOutput, what + ": " + hdf5_reason(), fix).at(path_);
  }

  void make(const std::string& name, const TensorDesc& desc, Dataset& dataset) const {
    std::vector<hsize_t> first = extents_of(desc.shape), most = first, chunk = first;
    first[0] = 0;
    most[0] = H5S_UNLIMITED;
    dataset.item = desc.shape.slice(1, desc.shape.axes());
    const int64_t row_bytes = std::max<int64_t>(1, dataset.item.count() * static_cast<int64_t>(size_of(desc.dtype)));
    chunk[0] =
        static_cast<hsize_t>(std::clamp(desc.shape[0], int64_t{1}, std::max<int64_t>(1, kChunkBytes / row_bytes)));
    const int axes = desc.shape.axes();
    const Hdf5Id space(H5Screate_simple(axes, first.data(), most.data()), H5Sclose);
    const Hdf5Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hid_t type = desc.dtype == DType::kF64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    if (!space || H5Pset_chunk(creation.get(), axes, chunk.data()) < 0) fail("dataset \"" + name + "\" is impossible");
    dataset.id = Hdf5Id(
        H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Dclose);
    if (!dataset.id) fail("dataset \"" + name + "\" cannot be made");
  }

  /// Adds the rows, and gives them to the system: a run that is killed later leaves a whole file.
  void write(Dataset& dataset, const Shape& shape, hid_t type, const void* values) const {
    const std::vector<hsize_t> count = extents_of(shape);
    std::vector<hsize_t> start(count.size()), all = count;
    start[0] = dataset.rows;
    all[0] += dataset.rows;
    bool written = H5Dset_extent(dataset.id.get(), all.data()) >= 0;
    const Hdf5Id space(H5Dget_space(dataset.id.get()), H5Sclose);
    const Hdf5Id memory(H5Screate_simple(shape.axes(), count.data(), nullptr), H5Sclose);
    written = written && space && memory &&
              H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
              H5Dwrite(dataset.id.get(), type, memory.get(), space.get(), H5P_DEFAULT, values) >= 0 &&
              H5Fflush(file_.get(), H5F_SCOPE_LOCAL) >= 0;
    if (const int error = hdf5_write_error(file_.get())) {
      throw Error(ErrorKind::kOutput, str("cannot write: ", std::strerror(error)), kMakeRoom).at(path_);
    }
    if (!written) fail("cannot write");
    dataset.rows = all[0];
  }

  std::string path_;
  Hdf5Id file_;
  std::map<std::string, Dataset> datasets_;
};

}  // namespace

std::unique_ptr<Hdf5Appender> create_hdf5(const std::string& path) { return std::make_unique<LibHdf5Appender>(path); }

}  // namespace robusta
