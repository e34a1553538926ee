/// Arrays of one element type into another.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace robusta {

/// to[i] = from[i] in memory of the host, over all threads. REQUIRES: neither is f64; separate arrays.
void convert(DType from_type, const void* from, DType to_type, void* to, int64_t count);

}  // namespace robusta
