/// Weights as the right factor of x W^T.
#pragma once

#include "ops/gemm.h"

namespace robusta {

/// op(data) is W^T.
template <typename Stored>
struct RightFactor {
  const Stored* data;
  Op op;
};

}  // namespace robusta
