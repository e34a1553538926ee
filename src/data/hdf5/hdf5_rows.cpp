// Rows of datasets of an HDF5 file.
//
// Floats and doubles that lie in one piece, as h5py and Caffe's tools write them, are read where they lie, by any
// thread at once; what is chunked, packed or of another type goes through libhdf5. A file is not trusted: links and
// pieces in other files are not followed, and what it claims has to fit its size before memory is taken for it.

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/input_file.h"
#include "base/str.h"
#include "data/hdf5/hdf5_appender.h"
#include "data/hdf5/hdf5_library.h"
#include "data/hdf5_access.h"

namespace robusta {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kWriteAnew[] = "write the file anew";
constexpr int64_t kMostItem = (int64_t{1} << 31) - 1;  // elements, as many as a blob of Caffe's has
constexpr uint64_t kMostChunk = uint64_t{1} << 30;     // bytes of one chunk, which libhdf5 unpacks as a whole
constexpr size_t kChunkCache = size_t{16} << 20;       // bytes of unpacked chunks that are kept, per dataset
constexpr int64_t kMostRatio = 1032;                   // deflate packs no better (zlib's technical details)

[[noreturn]] void refuse_file(const std::string& path, const std::string& cause, const std::string& fix = kWriteAnew) {
  throw Error(ErrorKind::kData, cause, fix).at(path);
}

/// Links into other files are not followed: they may lead to a FIFO, or out of what the user has given.
herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

/// Where values lie that can be read without libhdf5.
struct Piece {
  int64_t offset = 0;
  bool doubles = false;
};

struct Dataset {
  std::string name;
  Hdf5Id id;  // closed where the piece is read
  int64_t rows = 0;
  Shape item;
  std::optional<Piece> piece;
};

/// Looks at one dataset and refuses what cannot be read.
class DatasetProbe {
 public:
  DatasetProbe(const std::string& path, int64_t file_size, hid_t file, const std::string& name)
      : path_(path), file_size_(file_size), file_(file), name_(name) {}

  Dataset open() {
    Hdf5Id access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_elink_cb(access.get(), refuse_link, nullptr);
    constexpr size_t kSlots = 521;  // a prime, as libhdf5 asks for
    H5Pset_chunk_cache(access.get(), kSlots, kChunkCache, H5D_CHUNK_CACHE_W0_DEFAULT);
    dataset_.id = Hdf5Id(H5Dopen2(file_, name_.c_str(), access.get()), H5Dclose);
    if (!dataset_.id) refuse_missing();
    dataset_.name = name_;
    read_extent();
    read_type();
    read_storage();
    return std::move(dataset_);
  }

 private:
  [[noreturn]] void wrong(const std::string& what, const std::string& fix = kWriteAnew) const {
    refuse_file(path_, "dataset \"" + name_ + "\" " + what, fix);
  }

  [[noreturn]] void refuse_missing() const {
    const std::string reason = hdf5_reason();
    std::string others;
    H5G_info_t root;
    constexpr hsize_t kMostNames = 20;
    const bool listed = H5Gget_info(file_, &root) >= 0;
    const hsize_t links = listed ? std::min(root.nlinks, kMostNames) : 0;
    for (hsize_t i = 0; i < links; ++i) {
      char name[256];
      const auto length = H5Lget_name_by_idx(file_, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
      if (length > 0) others += (others.empty() ? "" : ", ") + std::string(name);
    }
    refuse_file(path_, str("there is no dataset \"", name_, "\" that can be opened (", reason, ")"),
                others.empty() ? "a dataset is read for each top, by its name"
                               : "a dataset is read for each top, by its name; the file holds " + others);
  }

  void read_extent() {
    const Hdf5Id space(H5Dget_space(dataset_.id.get()), H5Sclose);
    const int axes = space && H5Sis_simple(space.get()) > 0 ? H5Sget_simple_extent_ndims(space.get()) : -1;
    if (axes < 0) wrong("has no extents: " + hdf5_reason());
    if (axes == 0) wrong("is a single number", "give it an axis of samples");
    std::vector<hsize_t> extents(static_cast<size_t>(axes));
    if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) != axes) wrong("has no extents");
    std::vector<int64_t> dims;
    for (const hsize_t extent : extents) dims.push_back(static_cast<int64_t>(std::min<hsize_t>(extent, INT64_MAX)));
    dataset_.rows = dims[0];
    dataset_.item = Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
    count_ = 1;
    for (const int64_t extent : dataset_.item.dims()) count_ = product_or_most(count_, extent);
    if (count_ == 0) wrong("has samples without numbers: " + Shape(dims).str());
    if (count_ > kMostItem) wrong(str("has samples of more than ", kMostItem, " numbers"));
  }

  void read_type() {
    type_ = Hdf5Id(H5Dget_type(dataset_.id.get()), H5Tclose);
    const H5T_class_t kind = type_ ? H5Tget_class(type_.get()) : H5T_NO_CLASS;
    type_size_ = type_ ? H5Tget_size(type_.get()) : 0;
    constexpr size_t kMostBytes = 16;
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || type_size_ == 0 || type_size_ > kMostBytes) {
      wrong("holds neither floats nor integers", "write numbers, such as float32");
    }
  }

  void read_storage() {
    const Hdf5Id creation(H5Dget_create_plist(dataset_.id.get()), H5Pclose);
    if (!creation) wrong("cannot be read: " + hdf5_reason());
    if (H5Pget_external_count(creation.get()) != 0) wrong("keeps its numbers in other files");
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    const int64_t bytes = count_ * static_cast<int64_t>(type_size_);
    if (bytes / kMostRatio > file_size_) {
      wrong(str("has samples of ", bytes, " bytes, more than a file of ", file_size_, " bytes can hold"));
    }
    if (layout == H5D_CONTIGUOUS) return read_piece(bytes);
    if (layout == H5D_CHUNKED) return check_chunks(creation.get());
    if (layout != H5D_COMPACT) wrong("keeps its numbers in other datasets");
  }

  void read_piece(int64_t row_bytes) {
    const haddr_t offset = H5Dget_offset(dataset_.id.get());
    if (offset == HADDR_UNDEF) return;  // nothing was written: libhdf5 knows what stands for it
    const int64_t bytes = product_or_most(dataset_.rows, row_bytes);
    if (offset > static_cast<haddr_t>(file_size_) || bytes > file_size_ - static_cast<int64_t>(offset)) {
      wrong("is cut off: the file ends within it");
    }
    const bool floats = H5Tequal(type_.get(), H5T_IEEE_F32LE) > 0, doubles = H5Tequal(type_.get(), H5T_IEEE_F64LE) > 0;
    if (!floats && !doubles) return;
    dataset_.piece = Piece{static_cast<int64_t>(offset), doubles};
    dataset_.id.reset();
  }

  void check_chunks(hid_t creation) const {
    hsize_t extents[H5S_MAX_RANK] = {};
    const int axes = H5Pget_chunk(creation, H5S_MAX_RANK, extents);
    if (axes <= 0) wrong("has chunks that cannot be read: " + hdf5_reason());
    uint64_t bytes = type_size_;
    for (int i = 0; i < std::min(axes, static_cast<int>(H5S_MAX_RANK)); ++i) {
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extents[i]), &bytes)) bytes = UINT64_MAX;
    }
    if (bytes > kMostChunk) wrong("has chunks of more than 1 GiB", "write it with smaller chunks, a few samples each");
  }

  const std::string& path_;
  const int64_t file_size_;
  const hid_t file_;
  const std::string& name_;
  Dataset dataset_;
  Hdf5Id type_;
  int64_t count_ = 1;  // numbers of a row
  size_t type_size_ = 0;
};

class LibHdf5Rows : public Hdf5Rows {
 public:
  LibHdf5Rows(const std::string& path, const std::vector<std::string>& names)
      : path_(path), input_(open_input_file(path, ErrorKind::kData)) {
    const Hdf5Scope scope;
    try {
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

  int64_t rows() const override { return datasets_[0].rows; }
  const std::vector<Shape>& items() const override { return items_; }

  void read(int64_t row, float* out) const override {
    for (const Dataset& dataset : datasets_) {
      dataset.piece ? read_piece(dataset, row, out) : read_by_library(dataset, row, out);
      out += dataset.item.count();
    }
  }

 private:
  void open(const std::vector<std::string>& names) {
    file_ = open_hdf5(path_);
    if (!file_) refuse_file(path_, "this is no HDF5 file, or it is damaged: " + hdf5_reason());
    for (const std::string& name : names) {
      datasets_.push_back(DatasetProbe(path_, input_.info.st_size, file_.get(), name).open());
      items_.push_back(datasets_.back().item);
      if (datasets_.back().rows == rows()) continue;
      refuse_file(
          path_, str("dataset \"", name, "\" has ", datasets_.back().rows, " samples, \"", names[0], "\" has ", rows()),
          "write as many of each");
    }
    const bool by_library = std::ranges::any_of(datasets_, [](const Dataset& dataset) { return !dataset.piece; });
    if (!by_library) file_.reset();
  }

  void close() {
    datasets_.clear();
    file_.reset();
  }

  [[noreturn]] void fail(const Dataset& dataset, int64_t row, const std::string& why) const {
    refuse_file(path_, str("row ", row, " of dataset \"", dataset.name, "\" cannot be read: ", why));
  }

  void read_piece(const Dataset& dataset, int64_t row, float* out) const {
    const int64_t count = dataset.item.count();
    if (!dataset.piece->doubles) return read_bytes(dataset, row, out, static_cast<size_t>(count) * sizeof(float));
    thread_local std::vector<double> values;
    values.resize(static_cast<size_t>(count));
    read_bytes(dataset, row, values.data(), values.size() * sizeof(double));
    std::ranges::transform(values, out, [](double value) { return static_cast<float>(value); });
  }

  void read_bytes(const Dataset& dataset, int64_t row, void* to, size_t bytes) const {
    const int64_t begin = dataset.piece->offset + row * static_cast<int64_t>(bytes);
    size_t have = 0;
    while (have < bytes) {
      const ssize_t got = ::pread(input_.descriptor.get(), static_cast<char*>(to) + have, bytes - have,
                                  begin + static_cast<int64_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(dataset, row, std::strerror(errno));
      if (got == 0) fail(dataset, row, "the file has been cut off");
      have += static_cast<size_t>(got);
    }
  }

  void read_by_library(const Dataset& dataset, int64_t row, float* out) const {
    const Hdf5Scope scope;
    const int axes = dataset.item.axes() + 1;
    std::vector<hsize_t> start(static_cast<size_t>(axes)), count(static_cast<size_t>(axes), 1);
    start[0] = static_cast<hsize_t>(row);
    for (int i = 1; i < axes; ++i) count[static_cast<size_t>(i)] = static_cast<hsize_t>(dataset.item[i - 1]);
    const Hdf5Id space(H5Dget_space(dataset.id.get()), H5Sclose);
    const Hdf5Id memory(H5Screate_simple(axes, count.data(), nullptr), H5Sclose);
    const bool read =
        space && memory &&
        H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
        H5Dread(dataset.id.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, out) >= 0;
    if (!read) fail(dataset, row, hdf5_reason());
  }

  std::string path_;
  InputFile input_;
  Hdf5Id file_;  // closed where all is read in pieces
  std::vector<Dataset> datasets_;
  std::vector<Shape> items_;
};

std::unique_ptr<const Hdf5Rows> open_rows(const std::string& path, const std::vector<std::string>& datasets) {
  return std::make_unique<LibHdf5Rows>(path, datasets);
}

[[maybe_unused]] const bool registered_hdf5 = register_hdf5({open_rows, create_hdf5});

}  // namespace
}  // namespace robusta
