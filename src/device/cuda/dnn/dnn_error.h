/// What a call into cuDNN said, as an Error.
#pragma once

#include <string>

#include "device/cuda/cuda_libraries.h"

namespace robusta {

/// Throws for all but success: Error{kMemory} where memory ran out, Error{kUnsupported} for what this cuDNN or this GPU
/// does not offer and for libraries that do not fit together, Error{kInternal} for what makes no sense, else
/// Error{kDevice}. `what` names the call.
void check_dnn(cudnnStatus_t status, const char* what);

/// The status in cuDNN's words, with what it has to add.
std::string dnn_message(cudnnStatus_t status);

}  // namespace robusta
