/// What a call into CUDA or its libraries said, as an Error.
#pragma once

#include <cuda_runtime_api.h>

namespace robusta {

/// Throws for all but success: Error{kMemory} where memory ran out, Error{kUnsupported} where the driver is too old,
/// else Error{kDevice}. `what` names the call. A failed kernel is reported by a later call.
void check_cuda(cudaError_t status, const char* what);

}  // namespace robusta
