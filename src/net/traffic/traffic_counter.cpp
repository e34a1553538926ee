// Every address begins with bits of its own: what a kernel's body holds besides pointers, or has left between them, is
// taken for none.

#include "net/traffic/traffic_counter.h"

namespace robusta {

void* TrafficCounter::address(size_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr int kBits = 34;  // room of each piece of memory; larger ones take several
  // No count, index or factor that kernels are given; nor does it begin as flags do, behind which a body's padding may
  // hold the rest of an address.
  constexpr uintptr_t kMark = 0x5eedffc0;
  const uintptr_t address = (next_ << kBits) + kMark;
  next_ += 1 + ((kMark + bytes) >> kBits);
  memory_[address] = bytes;
  return reinterpret_cast<void*>(address);  // NOLINT: of no memory
}

double TrafficCounter::bytes_of(const KernelCall::Array& array) const {
  const auto at = reinterpret_cast<uintptr_t>(array.data);
  auto found = memory_.upper_bound(at);
  if (found == memory_.begin()) return 0;
  --found;
  const uintptr_t offset = at - found->first;
  if (offset >= found->second) return 0;
  return static_cast<double>(std::min(array.bytes, static_cast<int64_t>(found->second - offset)));
}

bool TrafficCounter::count(const KernelCall& call) {
  double bytes = 0;
  for (const KernelCall::Array& array : call.arrays) bytes += bytes_of(array);
  (call.flops > 0 ? counted_.products : counted_.others) += times_.of(bytes, call.flops, type_);
  return false;
}

}  // namespace robusta
