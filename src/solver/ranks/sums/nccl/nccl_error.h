/// What NCCL said, or did not say in time, as an Error.
#pragma once

#include <string>

#include "device/nccl/nccl_api.h"
#include "robusta/error.h"

namespace robusta {

/// "NCCL, <what>: <NCCL's words>". Error{kDevice} for what CUDA or NCCL finds wrong here, else Error{kCommunication}:
/// that may go well when tried again. `comm` may be null.
Error nccl_error(const NcclApi& api, NcclCommHandle comm, NcclResult result, const std::string& what);

/// `what` was not done within the limit: Error{kCommunication}. Often the consequence of another rank's error.
class NcclTimeout : public Error {
 public:
  NcclTimeout(const std::string& what, double limit_s);
};

}  // namespace robusta
