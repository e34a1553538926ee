// Groups are listed by one walk; whether a name is a group or an array is known once it is opened.

#include <utility>

#include "base/str.h"
#include "data/hdf5/hdf5_tree.h"

namespace robusta {
namespace {

constexpr size_t kMostMembers = 1'000'000;  // of one group
constexpr size_t kMostText = size_t{1} << 16;
constexpr char kDamaged[] = "take another file: this one is damaged, or no Caffe has written it";

/// Collects names; ends the walk at a group of too many.
herr_t take_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  auto& all = *static_cast<std::vector<std::string>*>(names);
  if (all.size() == kMostMembers) return -1;
  all.emplace_back(name);
  return 0;
}

/// Whether every group on the way and the last name are there.
bool exists(hid_t file, const std::string& path) {
  const Hdf5Id access = without_foreign_links(H5P_LINK_ACCESS);
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (H5Lexists(file, path.substr(0, end).c_str(), access.get()) <= 0) return false;
    if (end == std::string::npos) return true;
  }
}

}  // namespace

Hdf5TreeReader::Hdf5TreeReader(const std::string& path) {
  InputFile input = open_input_file(path, ErrorKind::kModel);
  const Hdf5Scope scope;
  file_ = open_hdf5_file(path, ErrorKind::kModel, std::move(input));
}

Hdf5TreeReader::~Hdf5TreeReader() {
  const Hdf5Scope scope;
  file_.id.reset();
}

bool Hdf5TreeReader::has(const std::string& path) const {
  const Hdf5Scope scope;
  return exists(file_.id.get(), path);
}

std::vector<Hdf5Member> Hdf5TreeReader::members(const std::string& group) const {
  const Hdf5Scope scope;
  const Hdf5Id access = without_foreign_links(H5P_GROUP_ACCESS);
  const Hdf5Id id(H5Gopen2(file_.id.get(), group.c_str(), access.get()), H5Gclose);
  if (!id) refuse(str("there is no group \"", group, "\" that can be opened (", hdf5_reason(), ")"), kDamaged);
  std::vector<std::string> names;
  if (H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names) < 0) {
    refuse(str("the names in group \"", group, "\" cannot be read: ", hdf5_reason()), kDamaged);
  }
  std::vector<Hdf5Member> members;
  const Hdf5Id link_access = without_foreign_links(H5P_LINK_ACCESS);
  for (const std::string& name : names) {
    const Hdf5Id object(H5Oopen(id.get(), name.c_str(), link_access.get()), H5Oclose);
    const H5I_type_t kind = object ? H5Iget_type(object.get()) : H5I_BADID;
    if (kind == H5I_GROUP || kind == H5I_DATASET) members.push_back({name, kind == H5I_GROUP});
  }
  return members;
}

Hdf5TreeReader::Array Hdf5TreeReader::array(const std::string& path) const {
  const Hdf5Scope scope;
  const Hdf5Dataset dataset = open_dataset(file_, path, 0, "values");
  Array array{.shape = dataset.dims, .values = {}};
  size_t count = 1;
  for (const int64_t extent : dataset.dims) count *= static_cast<size_t>(extent);
  bytes_read_ += static_cast<int64_t>(count * sizeof(float));
  if (!file_.may_hold(bytes_read_)) refuse("its arrays are larger than the file can hold", kDamaged);
  array.values.resize(count);
  if (H5Dread(dataset.id.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0) {
    refuse(str("dataset \"", path, "\" cannot be read: ", hdf5_reason()), kDamaged);
  }
  return array;
}

int64_t Hdf5TreeReader::integer(const std::string& path) const {
  const Hdf5Scope scope;
  const Hdf5Dataset dataset = open_dataset(file_, path, 0, "values");
  int64_t value = 0;
  const bool one = dataset.dims.empty() || (dataset.dims.size() == 1 && dataset.dims[0] == 1);
  if (!one || H5Dread(dataset.id.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    refuse(str("dataset \"", path, "\" is not one integer"), kDamaged);
  }
  return value;
}

std::string Hdf5TreeReader::bytes(const std::string& path) const {
  const Hdf5Scope scope;
  const Hdf5Dataset dataset = open_dataset(file_, path, 0, "values");
  if (dataset.dims.size() != 1) refuse(str("dataset \"", path, "\" is no row of bytes"), kDamaged);
  std::string bytes(static_cast<size_t>(dataset.dims[0]), '\0');
  if (H5Dread(dataset.id.get(), H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
    refuse(str("dataset \"", path, "\" cannot be read: ", hdf5_reason()), kDamaged);
  }
  return bytes;
}

std::string Hdf5TreeReader::text(const std::string& path) const {
  const Hdf5Scope scope;
  const Hdf5Id access = without_foreign_links(H5P_DATASET_ACCESS);
  const Hdf5Id dataset(H5Dopen2(file_.id.get(), path.c_str(), access.get()), H5Dclose);
  const Hdf5Id made(dataset ? H5Dget_create_plist(dataset.get()) : H5I_INVALID_HID, H5Pclose);
  const H5D_layout_t layout = made ? H5Pget_layout(made.get()) : H5D_LAYOUT_ERROR;
  const bool in_place = layout == H5D_CONTIGUOUS || layout == H5D_COMPACT;
  if (!in_place || H5Pget_external_count(made.get()) != 0) {
    refuse(str("dataset \"", path, "\" is no text of this file"), kDamaged);
  }
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
  const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
  const bool single = space && type && H5Sget_simple_extent_npoints(space.get()) == 1;
  if (!single || H5Tget_class(type.get()) != H5T_STRING) {
    refuse(str("dataset \"", path, "\" is no text"), kDamaged);
  }
  const bool variable = H5Tis_variable_str(type.get()) > 0;
  const size_t size = variable ? 0 : H5Tget_size(type.get());
  if (size > kMostText) refuse(str("the text \"", path, "\" has ", size, " bytes"), kDamaged);
  std::string text(size, '\0');
  char* words = nullptr;
  void* const to = variable ? static_cast<void*>(&words) : text.data();
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0) {
    refuse(str("the text \"", path, "\" cannot be read: ", hdf5_reason()), kDamaged);
  }
  if (words) {
    text = words;
    H5free_memory(words);
  }
  return text.c_str();  // without what pads it
}

}  // namespace robusta
