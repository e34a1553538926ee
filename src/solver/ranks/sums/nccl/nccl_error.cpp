// NCCL's results sorted by who can do something about them: this machine's user, or whoever tries again.
#include "solver/ranks/sums/nccl/nccl_error.h"

#include "base/str.h"

namespace robusta {
namespace {

constexpr char kFix[] =
    "NCCL_DEBUG=WARN tells more; NCCL_SOCKET_IFNAME names the network interface, where there are several; -mode r in "
    "-ddl does without NCCL";

}  // namespace

Error nccl_error(const NcclApi& api, NcclCommHandle comm, NcclResult result, const std::string& what) {
  // What the network or a peer has done may go well when tried again; what CUDA reports is this GPU's.
  const bool own = result == kNcclUnhandledCudaError || result == kNcclInvalidArgument || result == kNcclInvalidUsage;
  const char* const detail = comm ? api.get_last_error(comm) : nullptr;
  std::string text = str("NCCL, ", what, ": ", api.get_error_string(result));
  if (detail && *detail) text += str(" (", detail, ")");
  return Error(own ? ErrorKind::kDevice : ErrorKind::kCommunication, text, kFix);
}

NcclTimeout::NcclTimeout(const std::string& what, double limit_s)
    : Error(ErrorKind::kCommunication,
            str("NCCL, ", what, ": not done after ", limit_s, " s: a rank, its GPU or the way to it stands still"),
            str(kFix, "; -timeout in -ddl waits longer")) {}

}  // namespace robusta
