// One mutex for the process: a build of libhdf5 without --enable-threadsafe has global state.

#include "data/hdf5/hdf5_library.h"

#include <algorithm>
#include <array>

#include "base/str.h"
#include "data/hdf5/hdf5_driver.h"

namespace robusta {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Debian alone has the name of its serial build: others have libhdf5.so.103 for libhdf5_serial.so.103.
std::string name_elsewhere(std::string name) {
  const std::string serial = "_serial";
  if (const size_t at = name.find(serial); at != std::string::npos) name.erase(at, serial.size());
  return name;
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

// Of the version whose header this was compiled with.
void* find_in_hdf5(const char* symbol) {
  static const LateLibrary library(std::array{std::string(ROBUSTA_HDF5_SONAME), name_elsewhere(ROBUSTA_HDF5_SONAME)},
                                   {.kind = ErrorKind::kUnsupported,
                                    .user = "HDF5 files need",
                                    .fix = "install it (Debian: libhdf5-103-1), or name its folder in LD_LIBRARY_PATH",
                                    .probe = "H5open"});
  return library.find(symbol);
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
