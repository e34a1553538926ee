// CUDA's status codes as errors with a cause and a fix.

#include "device/cuda/cuda_error.h"

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string versions() {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto text = [](int version) { return str(version / 1000, ".", version % 1000 / 10); };
  return "the driver serves CUDA " + text(driver) + ", this program wants " + text(runtime);
}

std::string fix_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "use a smaller batch, or -lms auto to keep part of the activations in host memory";
    case cudaErrorInsufficientDriver:
      return versions() + ": install a newer driver, or a build for an older toolkit";
    case cudaErrorNoDevice:
      return "leave -gpu out to use the CPU; in a container or a job ask for GPUs (--gpus, --gres=gpu:1)";
    case cudaErrorDevicesUnavailable:
      return "another process holds the GPU exclusively: see nvidia-smi";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchTimeout:
      return "see dmesg for Xid messages and nvidia-smi -q; go on from the last snapshot on another GPU";
    case cudaErrorNoKernelImageForDevice:
      return "this build has no code for this GPU: build with -DROBUSTA_CUDA_ARCHITECTURES=all";
    default:
      return "see dmesg for Xid messages; go on from the last snapshot (-snapshot auto)";
  }
}

ErrorKind kind_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return ErrorKind::kMemory;
  const bool unsupported = status == cudaErrorInsufficientDriver || status == cudaErrorNoKernelImageForDevice;
  return unsupported ? ErrorKind::kUnsupported : ErrorKind::kDevice;
}

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is not sticky would be reported again by the next launch
  throw Error(kind_of(status), str(what, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")"),
              fix_of(status));
}

}  // namespace robusta
