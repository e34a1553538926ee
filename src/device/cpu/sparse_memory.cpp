// Anonymous pages: the kernel gives them when they are written, and takes them back by madvise. Large blocks are
// aligned to huge pages and ask for them, as memory of the host's device does; a huge page that is given up in part is
// split by the kernel.

#include "device/cpu/sparse_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// A huge page of x86.
constexpr size_t kLargePage = size_t{2} << 20;

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t rounded_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

SparseMemory::SparseMemory(size_t bytes) : bytes_(rounded_up(std::max<size_t>(bytes, 1), page_bytes())) {
  const bool large = bytes_ >= 2 * kLargePage;
  block_bytes_ = bytes_ + (large ? kLargePage : 0);
  block_ = mmap(nullptr, block_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block_ == MAP_FAILED) {
    throw Error(ErrorKind::kMemory, str("no memory for ", bytes, " bytes of parameters"),
                "use a smaller net, or fewer ranks on this host");
  }
  const auto address = reinterpret_cast<uintptr_t>(block_);
  data_ = static_cast<char*>(block_) + (large ? rounded_up(address, kLargePage) - address : 0);
#ifdef MADV_HUGEPAGE
  if (large) madvise(data_, bytes_ / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

SparseMemory::~SparseMemory() { munmap(block_, block_bytes_); }

void SparseMemory::give_up(size_t begin, size_t end) const {
  const size_t first = rounded_up(begin, page_bytes()), last = end / page_bytes() * page_bytes();
  if (first < last) madvise(static_cast<char*>(data_) + first, last - first, MADV_DONTNEED);
}

size_t SparseMemory::resident() const {
  std::vector<unsigned char> pages(bytes_ / page_bytes());
  if (mincore(data_, bytes_, pages.data()) != 0) return bytes_;
  const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  return static_cast<size_t>(there) * page_bytes();
}

}  // namespace robusta
