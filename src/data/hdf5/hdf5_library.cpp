// One mutex for the process: a build of libhdf5 without --enable-threadsafe has global state.

#include "data/hdf5/hdf5_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/str.h"
#include "data/hdf5/hdf5_driver.h"

namespace robusta {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Of the version whose header this was compiled with. It stays loaded: its own clean-up runs when the process ends.
void* load_library() {
  void* const library = dlopen(ROBUSTA_HDF5_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  throw Error(ErrorKind::kUnsupported,
              str("HDF5 files need ", ROBUSTA_HDF5_SONAME, ", which cannot be loaded: ", dlerror()),
              "install it (Debian: libhdf5-103-1), or name its folder in LD_LIBRARY_PATH");
}

/// Where to look for symbols. A program that is linked with the same library has copies of its variables (System V ABI,
/// "copy relocations"), and the library uses these.
void* scope_of(void* library) {
  return dlsym(RTLD_DEFAULT, "H5open") == dlsym(library, "H5open") ? RTLD_DEFAULT : library;
}

/// One line without addresses of memory: of "file read failed: time = ..., error message = 'WHY', buf = ..." what
/// failed, and WHY.
std::string in_plain_words(const std::string& description) {
  constexpr std::string_view kWhy = "error message = '";
  std::string plain = description;
  const size_t what = plain.find(": time = "), why = plain.find(kWhy);
  if (what != std::string::npos && why != std::string::npos) {
    const size_t begin = why + kWhy.size();
    plain = plain.substr(0, what) + ": " + plain.substr(begin, plain.find('\'', begin) - begin);
  }
  std::replace(plain.begin(), plain.end(), '\n', ' ');
  return plain;
}

/// H5Ewalk2 goes from the cause upwards; the first entry is enough.
herr_t take_description(unsigned, const H5E_error2_t* error, void* text) {
  auto& reason = *static_cast<std::string*>(text);
  if (reason.empty() && error->desc) reason = error->desc;
  return 0;
}

}  // namespace

void* find_in_hdf5(const char* symbol) {
  static void* const scope = scope_of(load_library());
  if (void* const address = dlsym(scope, symbol)) return address;
  throw Error(ErrorKind::kUnsupported, str(ROBUSTA_HDF5_SONAME, " lacks ", symbol),
              "install the library as Debian has it");
}

Hdf5Scope::Hdf5Scope() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Scope::~Hdf5Scope() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &reason);
  return reason.empty() ? "libhdf5 gives no reason" : in_plain_words(reason);
}

Hdf5Id open_hdf5(const std::string& path) {
  const Hdf5Id properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose), locking(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  use_hdf5_driver(properties.get());
  use_hdf5_driver(locking.get());
  H5Pset_file_locking(properties.get(), false, true);
  Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties.get()), H5Fclose);
  if (file) return file;
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, locking.get()), H5Fclose};
}

}  // namespace robusta
