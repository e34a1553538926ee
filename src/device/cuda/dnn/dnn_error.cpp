// cuDNN's status codes as errors with a cause and a fix.

#include "device/cuda/dnn/dnn_error.h"

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// cuDNN numbers its statuses in thousands by what went wrong; the rest says why.
constexpr int kBadParam = 2, kNotSupported = 3, kInternal = 4;

bool ran_out_of_memory(cudnnStatus_t status) {
  return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

bool do_not_fit_together(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH || status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED ||
         status == CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH;
}

ErrorKind kind_of(cudnnStatus_t status) {
  if (ran_out_of_memory(status)) return ErrorKind::kMemory;
  const int family = static_cast<int>(status) / 1000;
  if (family == kNotSupported || do_not_fit_together(status)) return ErrorKind::kUnsupported;
  return family == kBadParam ? ErrorKind::kInternal : ErrorKind::kDevice;
}

std::string fix_of(cudnnStatus_t status) {
  if (ran_out_of_memory(status))
    return "use a smaller batch, or -lms auto to keep part of the activations in host memory";
  if (do_not_fit_together(status)) {
    return "all libcudnn*.so.9 have to be of one release and in one folder: see LD_LIBRARY_PATH";
  }
  const int family = static_cast<int>(status) / 1000;
  if (family == kNotSupported) return "use a newer cuDNN 9, or -kernels to name other kernels";
  if (status == CUDNN_STATUS_NOT_INITIALIZED) return "see nvidia-smi whether the GPU and its driver answer";
  return family == kBadParam || family == kInternal
             ? "set CUDNN_LOGLEVEL_DBG=2 and CUDNN_LOGDEST_DBG=stderr to have cuDNN say more"
             : "see dmesg for Xid messages; go on from the last snapshot (-snapshot auto)";
}

}  // namespace

std::string dnn_message(cudnnStatus_t status) {
  char more[512] = "";
  cudnnGetLastErrorString(more, sizeof more);
  return str(cudnnGetErrorString(status), more[0] ? ": " : "", more);
}

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error(kind_of(status), str("cuDNN, ", what, ": ", dnn_message(status)), fix_of(status));
}

}  // namespace robusta
