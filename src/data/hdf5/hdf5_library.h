/// What all uses of libhdf5 share: it is one thread's at a time, prints nothing, and says why it failed.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "data/hdf5/hdf5_api.h"
#include "robusta/error.h"

namespace robusta {

/// While it lives, libhdf5 is this thread's, as Debian's build asks for. Not to be nested. Throws Error{kUnsupported}
/// where there is no libhdf5.
class Hdf5Scope {
 public:
  Hdf5Scope();
  ~Hdf5Scope();
  Hdf5Scope(const Hdf5Scope&) = delete;
  Hdf5Scope& operator=(const Hdf5Scope&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;  // of the program that embeds us
  void* print_data_ = nullptr;
};

/// An object of libhdf5 with one owner. Closed within a scope.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Id() = default;
  Hdf5Id(hid_t id, Close close) : id_(id), close_(close) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Id() { reset(); }
  void reset() {
    if (id_ >= 0) close_(id_);
    id_ = H5I_INVALID_HID;
  }
  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// The first cause that libhdf5 has noted of its last failure; "" if none. Within a scope.
std::string hdf5_reason();

/// Opens a file for reading: without locks, which some network file systems lack, unless this process writes it, under
/// locks. Within a scope.
Hdf5Id open_hdf5(const std::string& path);

}  // namespace robusta
