// A few damaged or hostile bytes are met by checking extents, types and places of storage in turn; libhdf5 checks the
// rest of a file's structure.

#include "data/hdf5/hdf5_dataset.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/str.h"
#include "tensor/shape.h"

namespace robusta {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int64_t kMostNumbers = (int64_t{1} << 31) - 1;  // at once, as many as a blob of Caffe's has
constexpr uint64_t kMostChunk = uint64_t{1} << 30;        // bytes of one chunk, which libhdf5 unpacks as a whole
constexpr size_t kChunkCache = size_t{16} << 20;          // bytes of unpacked chunks that are kept, per dataset
constexpr int64_t kMostRatio = 1032;                      // deflate packs no better (zlib's technical details)

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

/// Looks at one dataset and refuses what cannot be read.
class DatasetProbe {
 public:
  DatasetProbe(const Hdf5File& file, const std::string& name, size_t first_axis, std::string_view unit)
      : file_(file), name_(name), first_axis_(first_axis), unit_(unit) {}

  Hdf5Dataset open() {
    const Hdf5Id access = without_foreign_links(H5P_DATASET_ACCESS);
    constexpr size_t kSlots = 521;  // a prime, as libhdf5 asks for
    H5Pset_chunk_cache(access.get(), kSlots, kChunkCache, H5D_CHUNK_CACHE_W0_DEFAULT);
    dataset_.id = Hdf5Id(H5Dopen2(file_.id.get(), name_.c_str(), access.get()), H5Dclose);
    if (!dataset_.id) refuse_missing();
    dataset_.name = name_;
    read_layout();  // first: libhdf5 may open other files to know the extent of a virtual dataset
    read_extent();
    read_type();
    read_storage();
    return std::move(dataset_);
  }

 private:
  [[noreturn]] void wrong(const std::string& what, const std::string& fix = "write the file anew") const {
    file_.refuse("dataset \"" + name_ + "\" " + what, fix);
  }

  [[noreturn]] void refuse_missing() const {
    const std::string reason = hdf5_reason();
    std::string others;
    H5G_info_t root;
    constexpr hsize_t kMostNames = 20;
    const bool listed = H5Gget_info(file_.id.get(), &root) >= 0;
    const hsize_t links = listed ? std::min(root.nlinks, kMostNames) : 0;
    for (hsize_t i = 0; i < links; ++i) {
      char name[256];
      const auto length =
          H5Lget_name_by_idx(file_.id.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
      if (length > 0) others += (others.empty() ? "" : ", ") + std::string(name);
    }
    file_.refuse(
        str("there is no dataset \"", name_, "\" that can be opened (", reason, ")"),
        others.empty() ? "a dataset is read by its name" : "a dataset is read by its name; the file holds " + others);
  }

  void read_layout() {
    creation_ = Hdf5Id(H5Dget_create_plist(dataset_.id.get()), H5Pclose);
    if (!creation_) wrong("cannot be read: " + hdf5_reason());
    if (H5Pget_external_count(creation_.get()) != 0) wrong("keeps its numbers in other files");
    layout_ = H5Pget_layout(creation_.get());
    if (layout_ != H5D_CONTIGUOUS && layout_ != H5D_CHUNKED && layout_ != H5D_COMPACT) {
      wrong("keeps its numbers in other datasets");
    }
  }

  void read_extent() {
    const Hdf5Id space(H5Dget_space(dataset_.id.get()), H5Sclose);
    const int axes = space && H5Sis_simple(space.get()) > 0 ? H5Sget_simple_extent_ndims(space.get()) : -1;
    if (axes < 0) wrong("has no extents: " + hdf5_reason());
    std::vector<hsize_t> extents(static_cast<size_t>(axes));
    if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) != axes) wrong("has no extents");
    for (const hsize_t extent : extents) {
      dataset_.dims.push_back(static_cast<int64_t>(std::min<hsize_t>(extent, INT64_MAX)));
    }
    if (extents.size() < first_axis_) wrong("is a single number", "give it an axis of samples");
    for (size_t i = first_axis_; i < extents.size(); ++i) count_ = product_or_most(count_, dataset_.dims[i]);
    if (count_ == 0) wrong(str("has ", unit_, " without numbers: ", Shape(dataset_.dims).str()));
    if (count_ > kMostNumbers) wrong(str("has ", unit_, " of more than ", kMostNumbers, " numbers"));
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
    const int64_t bytes = count_ * static_cast<int64_t>(type_size_);
    if (!file_.may_hold(bytes)) {
      wrong(str("has ", unit_, " of ", bytes, " bytes, more than a file of ", file_.size(), " bytes can hold"));
    }
    if (layout_ == H5D_CONTIGUOUS) return read_piece(bytes);
    if (layout_ == H5D_CHUNKED) check_chunks(creation_.get());
  }

  void read_piece(int64_t unit_bytes) {
    const haddr_t offset = H5Dget_offset(dataset_.id.get());
    if (offset == HADDR_UNDEF) return;  // nothing was written: libhdf5 knows what stands for it
    int64_t bytes = unit_bytes;
    for (size_t i = 0; i < first_axis_; ++i) bytes = product_or_most(bytes, dataset_.dims[i]);
    if (offset > static_cast<haddr_t>(file_.size()) || bytes > file_.size() - static_cast<int64_t>(offset)) {
      wrong("is cut off: the file ends within it");
    }
    const bool floats = H5Tequal(type_.get(), H5T_IEEE_F32LE) > 0, doubles = H5Tequal(type_.get(), H5T_IEEE_F64LE) > 0;
    if (floats || doubles) dataset_.piece = Hdf5Dataset::Piece{static_cast<int64_t>(offset), doubles};
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

  const Hdf5File& file_;
  const std::string& name_;
  const size_t first_axis_;
  const std::string_view unit_;
  Hdf5Dataset dataset_;
  Hdf5Id creation_, type_;
  H5D_layout_t layout_ = H5D_LAYOUT_ERROR;
  int64_t count_ = 1;  // numbers of a unit
  size_t type_size_ = 0;
};

}  // namespace

bool Hdf5File::may_hold(int64_t bytes) const { return bytes / kMostRatio <= size(); }

void Hdf5File::refuse(const std::string& cause, const std::string& fix) const {
  throw Error(kind, cause, fix).at(path);
}

Hdf5File open_hdf5_file(const std::string& path, ErrorKind kind, InputFile input) {
  Hdf5File file{.path = path, .kind = kind, .input = std::move(input), .id = open_hdf5(path)};
  if (!file.id) file.refuse("this is no HDF5 file, or it is damaged: " + hdf5_reason());
  return file;
}

Hdf5Id without_foreign_links(hid_t property_class) {
  Hdf5Id access(H5Pcreate(property_class), H5Pclose);
  H5Pset_elink_cb(access.get(), refuse_link, nullptr);
  return access;
}

Hdf5Dataset open_dataset(const Hdf5File& file, const std::string& name, size_t first_axis, std::string_view unit) {
  return DatasetProbe(file, name, first_axis, unit).open();
}

}  // namespace robusta
