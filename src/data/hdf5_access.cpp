// The one entry of the register.

#include "data/hdf5_access.h"

#include <optional>

#include "robusta/error.h"

namespace robusta {
namespace {

std::optional<Hdf5Access>& the_access() {
  static std::optional<Hdf5Access> access;
  return access;
}

}  // namespace

bool register_hdf5(const Hdf5Access& access) {
  the_access() = access;
  return true;
}

const Hdf5Access& hdf5_access() {
  if (the_access()) return *the_access();
  throw Error(ErrorKind::kUnsupported, "this program was built without HDF5",
              "install libhdf5-dev and build with -DROBUSTA_HDF5=ON");
}

}  // namespace robusta
