// The callbacks that libhdf5's page "HDF5 Virtual File Layer" asks for, over pread and pwrite.

#include "data/hdf5/hdf5_driver.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/descriptor.h"

namespace robusta {
namespace {

constexpr herr_t kDone = 0, kFailed = -1;

/// Bytes that could not be written, and that the library may read again.
struct KeptBytes {
  haddr_t start;
  std::vector<char> bytes;
};

/// `H5FD_t` is the library's part of it.
struct DriverFile : H5FD_t {
  Descriptor descriptor;
  dev_t device = 0;
  ino_t inode = 0;
  haddr_t end_of_addresses = 0;  // of what the library has given away
  haddr_t end_of_file = 0;
  int error = 0;
  std::vector<KeptBytes> kept;  // in the order of writing
};

DriverFile& of(H5FD_t* file) { return *static_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *static_cast<const DriverFile*>(file); }

H5FD_t* open_file(const char* name, unsigned flags, hid_t, haddr_t) {
  int mode = O_CLOEXEC | ((flags & H5F_ACC_RDWR) ? O_RDWR : O_RDONLY);
  if (flags & H5F_ACC_TRUNC) mode |= O_TRUNC;
  if (flags & H5F_ACC_CREAT) mode |= O_CREAT;
  if (flags & H5F_ACC_EXCL) mode |= O_EXCL;
  auto file = std::make_unique<DriverFile>();
  file->descriptor = Descriptor(::open(name, mode, 0666));
  struct stat info = {};
  if (!file->descriptor.is_open() || ::fstat(file->descriptor.get(), &info) != 0) return nullptr;
  file->device = info.st_dev;
  file->inode = info.st_ino;
  file->end_of_file = static_cast<haddr_t>(info.st_size);
  return file.release();
}

herr_t close_file(H5FD_t* file) {
  delete &of(file);
  return kDone;
}

/// So the library knows a file that it has open already.
int compare_files(const H5FD_t* a, const H5FD_t* b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  const int by_device = order(of(a).device, of(b).device);
  return by_device != 0 ? by_device : order(of(a).inode, of(b).inode);
}

/// What the library's own driver for such files allows (H5FDsec2.c).
herr_t tell_features(const H5FD_t*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
              H5FD_FEAT_AGGREGATE_SMALLDATA;
  return kDone;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_addresses; }

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  of(file).end_of_addresses = end;
  return kDone;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_file; }

herr_t handle_of_file(H5FD_t* file, hid_t, void** handle) {
  *handle = &of(file);
  return kDone;
}

/// Beyond the end of the file are zeros.
herr_t read_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t start, size_t size, void* buffer) {
  auto* const bytes = static_cast<char*>(buffer);
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(of(file).descriptor.get(), bytes + done, size - done, static_cast<off_t>(start + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kFailed;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  std::fill(bytes + done, bytes + size, '\0');
  for (const KeptBytes& kept : of(file).kept) {
    const haddr_t first = std::max(start, kept.start), last = std::min(start + size, kept.start + kept.bytes.size());
    if (first < last) std::memcpy(bytes + (first - start), kept.bytes.data() + (first - kept.start), last - first);
  }
  return kDone;
}

int write_to_disk(int descriptor, haddr_t start, const char* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::pwrite(descriptor, bytes + done, size - done, static_cast<off_t>(start + done));
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) done += static_cast<size_t>(count);
  }
  return 0;
}

herr_t write_file(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t start, size_t size, const void* buffer) {
  DriverFile& to = of(file);
  const auto* const bytes = static_cast<const char*>(buffer);
  if (to.error == 0) to.error = write_to_disk(to.descriptor.get(), start, bytes, size);
  // The values of datasets may be large, and nothing in the library follows from them.
  if (to.error != 0 && type != H5FD_MEM_DRAW) to.kept.push_back({start, {bytes, bytes + size}});
  to.end_of_file = std::max(to.end_of_file, start + size);
  return kDone;
}

/// Makes the file as long as the library's addresses reach.
herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  DriverFile& to = of(file);
  if (to.end_of_file == to.end_of_addresses) return kDone;
  if (to.error == 0 && ::ftruncate(to.descriptor.get(), static_cast<off_t>(to.end_of_addresses)) != 0) to.error = errno;
  to.end_of_file = to.end_of_addresses;
  return kDone;
}

/// File systems without locks are taken as they are.
herr_t lock_with(H5FD_t* file, int operation) {
  if (::flock(of(file).descriptor.get(), operation | LOCK_NB) == 0) return kDone;
  return errno == ENOSYS || errno == EOPNOTSUPP ? kDone : kFailed;
}
herr_t lock_file(H5FD_t* file, hbool_t for_writing) { return lock_with(file, for_writing ? LOCK_EX : LOCK_SH); }
herr_t unlock_file(H5FD_t* file) { return lock_with(file, LOCK_UN); }

H5FD_class_t driver_class() {
  H5FD_class_t driver = {};
#ifdef H5FD_CLASS_VERSION  // since 1.13
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(700);  // of those that the library leaves to others
#endif
  driver.name = "robusta";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.open = open_file;
  driver.close = close_file;
  driver.cmp = compare_files;
  driver.query = tell_features;
  driver.get_eoa = end_of_addresses;
  driver.set_eoa = set_end_of_addresses;
  driver.get_eof = end_of_file;
  driver.get_handle = handle_of_file;
  driver.read = read_file;
  driver.write = write_file;
  driver.truncate = truncate_file;
  driver.lock = lock_file;
  driver.unlock = unlock_file;
  // One free list for the values of datasets, one for all else.
  std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_SUPER);
  driver.fl_map[H5FD_MEM_DRAW] = driver.fl_map[H5FD_MEM_GHEAP] = H5FD_MEM_DRAW;
  return driver;
}

}  // namespace

void use_hdf5_driver(hid_t access_properties) {
  static const H5FD_class_t driver = driver_class();
  static const hid_t id = H5FDregister(&driver);
  H5Pset_driver(access_properties, id, nullptr);
}

int hdf5_write_error(hid_t file) {
  void* handle = nullptr;
  return H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 ? 0 : static_cast<DriverFile*>(handle)->error;
}

}  // namespace robusta
