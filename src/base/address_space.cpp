// A piece that nobody may touch, and that is given back at once, costs nothing.

#include "base/address_space.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace robusta {

bool is_address_space_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool has_address_space(size_t bytes) {
  if (!is_address_space_limited()) return true;
  void* const probe = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return false;
  ::munmap(probe, bytes);
  return true;
}

}  // namespace robusta
