/// Which weights something was made of, such as a copy that a kernel keeps in an order of its own.
#pragma once

#include <cstdint>

namespace robusta {

class WeightsStamp {
 public:
  /// True if they are others than at the last call, which sharing may exchange, too.
  bool moved(const void* weights, uint64_t version) {
    if (source_ == weights && version_ == version) return false;
    source_ = weights;
    version_ = version;
    return true;
  }

 private:
  uint64_t version_ = 0;
  const void* source_ = nullptr;
};

}  // namespace robusta
