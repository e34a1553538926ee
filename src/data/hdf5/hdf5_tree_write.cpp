// The core driver of libhdf5: a file that lives in memory and is never put on a disk.

#include "base/str.h"
#include "data/hdf5/hdf5_tree.h"

namespace robusta {
namespace {

constexpr size_t kGrowth = size_t{16} << 20;  // bytes by which the memory grows

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::kOutput, str(what, ": ", hdf5_reason()), "write BINARYPROTO instead");
}

}  // namespace

Hdf5TreeWriter::Hdf5TreeWriter() {
  const Hdf5Scope scope;
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), kGrowth, false);
  static int made = 0;  // the names of files in memory must differ, too
  const std::string name = str("robusta in memory ", ++made);
  file_ = Hdf5Id(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file_) fail("an HDF5 file cannot be begun in memory");
  parents_ = Hdf5Id(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(parents_.get(), 1);
}

Hdf5TreeWriter::~Hdf5TreeWriter() {
  const Hdf5Scope scope;
  parents_.reset();
  file_.reset();
}

void Hdf5TreeWriter::add_group(const std::string& path) {
  const Hdf5Scope scope;
  if (H5Lexists(file_.get(), path.c_str(), H5P_DEFAULT) > 0) return;  // the parent of one that was there before
  const Hdf5Id group(H5Gcreate2(file_.get(), path.c_str(), parents_.get(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group) fail("group \"" + path + "\" cannot be made");
}

void Hdf5TreeWriter::add(const std::string& path, const std::vector<hsize_t>& dims, hid_t type, hid_t memory_type,
                         const void* data) {
  const Hdf5Id space(
      dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
      H5Sclose);
  const Hdf5Id dataset(
      space ? H5Dcreate2(file_.get(), path.c_str(), type, space.get(), parents_.get(), H5P_DEFAULT, H5P_DEFAULT)
            : H5I_INVALID_HID,
      H5Dclose);
  if (!dataset || H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    fail("dataset \"" + path + "\" cannot be made");
  }
}

void Hdf5TreeWriter::add_array(const std::string& path, const std::vector<int64_t>& shape, const float* values) {
  const Hdf5Scope scope;
  add(path, {shape.begin(), shape.end()}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
}

void Hdf5TreeWriter::add_integer(const std::string& path, int32_t value) {
  const Hdf5Scope scope;
  add(path, {1}, H5T_STD_I32LE, H5T_NATIVE_INT32, &value);
}

void Hdf5TreeWriter::add_float(const std::string& path, float value) {
  const Hdf5Scope scope;
  add(path, {1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &value);
}

void Hdf5TreeWriter::add_bytes(const std::string& path, const std::string& bytes) {
  const Hdf5Scope scope;
  add(path, {bytes.size()}, H5T_STD_U8LE, H5T_NATIVE_UCHAR, bytes.data());
}

void Hdf5TreeWriter::add_text(const std::string& path, const std::string& text) {
  const Hdf5Scope scope;
  const Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), text.size() + 1);
  add(path, {}, type.get(), type.get(), text.c_str());
}

std::vector<char> Hdf5TreeWriter::image() const {
  const Hdf5Scope scope;
  H5Fflush(file_.get(), H5F_SCOPE_LOCAL);
  const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
  std::vector<char> bytes(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (size <= 0 || H5Fget_file_image(file_.get(), bytes.data(), bytes.size()) != size) {
    fail("an HDF5 file cannot be taken from memory");
  }
  return bytes;
}

}  // namespace robusta
