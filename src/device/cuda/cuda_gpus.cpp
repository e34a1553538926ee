// The GPUs that CUDA sees, and what software serves them.

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "base/str.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_handle.h"
#include "device/cuda/cuda_libraries.h"
#include "device/gpus.h"
#include "device/nccl/nccl_api.h"
#include "robusta/error.h"

namespace robusta {
namespace {

int peer_attribute(cudaDeviceP2PAttr attribute, int from, int to) {
  int value = 0;
  if (cudaDeviceGetP2PAttribute(&value, attribute, from, to) == cudaSuccess) return value;
  cudaGetLastError();
  return 0;
}

std::vector<GpuPeer> peers_of(int ordinal, int count) {
  std::vector<GpuPeer> peers;
  for (int other = 0; other < count; ++other) {
    if (other == ordinal || !peer_attribute(cudaDevP2PAttrAccessSupported, ordinal, other)) continue;
    // Atomic operations on a peer's memory go through NVLink, not through PCIe.
    const bool nvlink = peer_attribute(cudaDevP2PAttrNativeAtomicSupported, ordinal, other);
    peers.push_back({other, nvlink ? "NVLink" : "PCIe"});
  }
  return peers;
}

GpuInfo describe(int ordinal, int count) {
  cudaDeviceProp p;
  check_cuda(cudaGetDeviceProperties(&p, ordinal), "cudaGetDeviceProperties");
  GpuInfo info;
  info.ordinal = ordinal;
  info.name = p.name;
  info.memory = p.totalGlobalMem;
  info.capability = str(p.major, ".", p.minor);
  char id[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(id, sizeof id, ordinal), "cudaDeviceGetPCIBusId");
  info.pci_id = id;
  info.processors = p.multiProcessorCount;
  info.peers = peers_of(ordinal, count);
  return info;
}

std::vector<GpuInfo> list_cuda() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice) {
    cudaGetLastError();
    return {};
  }
  // Without any driver the runtime says that the driver is insufficient.
  int driver = 0;
  if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
    cudaGetLastError();
    return {};
  }
  check_cuda(status, "cudaGetDeviceCount");
  std::vector<GpuInfo> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(describe(i, count));
  return gpus;
}

std::shared_ptr<Device> open_cuda(int ordinal) {
  auto device = std::make_shared<CudaGpu>(ordinal);
  device->start_libraries();
  return device;
}

/// Beside the libraries that this program uses: in the same folder of a toolkit, and where Python's packages
/// have NCCL (nvidia/nccl/lib beside nvidia/cublas/lib, or nvidia/cu13/lib).
std::vector<std::string> cuda_nccl_files() {
  const std::string name = "libnccl.so.2";
  std::vector<std::string> files;
  const auto add = [&](const std::string& file) {
    if (access(file.c_str(), R_OK) == 0) files.push_back(file);
  };
  const char* const variable = std::getenv("ROBUSTA_CUDA_LIBS");
  std::istringstream folders(variable ? variable : "");
  for (std::string folder; std::getline(folders, folder, ':');) add(folder + "/" + name);
  files.push_back(name);  // where the dynamic linker looks
  const std::string folder = folder_of_cublas();
  if (folder.empty()) return files;
  for (const char* place : {"/", "/../../nccl/lib/"}) add(folder + place + name);
  return files;
}

/// Both of CUDA's own: 13000 is 13.0.
std::string cuda_version(int version) {
  return version > 0 ? str(version / 1000, ".", version % 1000 / 10) : std::string();
}

/// "" where it is not to be had.
template <typename Property>
std::string library_version(const Property& property) try {
  int major = 0, minor = 0, patch = 0;
  property(MAJOR_VERSION, &major);
  property(MINOR_VERSION, &minor);
  property(PATCH_LEVEL, &patch);
  return str(major, ".", minor, ".", patch);
} catch (const Error&) {
  return "";
}

std::vector<GpuSoftware> cuda_software() {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::vector<GpuSoftware> all = {{"driver for CUDA", cuda_version(driver)},
                                  {"CUDA runtime", cuda_version(runtime)},
                                  {"cuDNN", library_version(cudnnGetProperty)},
                                  {"cuBLAS", library_version(cublasGetProperty)}};
  std::string why;
  const NcclApi* const nccl = find_nccl(cuda_nccl_files(), why);
  all.push_back({"NCCL", nccl ? nccl->version_text() : ""});
  return all;
}

const bool registered = register_gpus({"cuda", list_cuda, open_cuda, cuda_software, cuda_nccl_files});

}  // namespace
}  // namespace robusta
