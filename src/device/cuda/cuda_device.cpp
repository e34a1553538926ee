#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include "base/str.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/dnn/context.h"
#include "device/gpus.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string bytes_text(size_t bytes) { return str((bytes + (1 << 19)) >> 20, " MiB"); }

}  // namespace

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal) {
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  name_ = str("GPU ", ordinal, " (", properties.name, ")");
  total_ = properties.totalGlobalMem;
  generation_ = properties.major;
  make_current();
  check_cuda(cudaFree(nullptr), "starting the GPU");
}

CudaDevice::~CudaDevice() {
  if (dnn_) cudaSetDevice(ordinal_);
}

dnn::Context& CudaDevice::dnn() {
  if (!dnn_) {
    make_current();
    dnn_ = std::make_unique<dnn::Context>();
  }
  return *dnn_;
}

void CudaDevice::make_current() const { check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice"); }

void* CudaDevice::allocate(size_t bytes) {
  make_current();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ErrorKind::kMemory,
                str(name_, " has no ", bytes_text(bytes), " left: ", bytes_text(free_memory()), " of ",
                    bytes_text(total_), " are free"),
                "use a smaller batch, or -lms auto to keep part of the activations in host memory");
  }
  check_cuda(status, "cudaMalloc");
  return memory;
}

void CudaDevice::deallocate(void* memory) {
  cudaSetDevice(ordinal_);
  cudaFree(memory);
}

std::unique_ptr<Stream> CudaDevice::make_stream() { return std::make_unique<CudaStream>(*this); }

std::shared_ptr<void> CudaDevice::host_memory(size_t bytes) {
  if (bytes == 0) return nullptr;
  make_current();
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ErrorKind::kMemory, str("the host has no ", bytes_text(bytes), " of page-locked memory left"),
                "use fewer ranks on this host, or a smaller batch; see ulimit -l");
  }
  check_cuda(status, "cudaHostAlloc");
  return {memory, [](void* p) { cudaFreeHost(p); }};
}

size_t CudaDevice::free_memory() const {
  make_current();
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

namespace {

GpuInfo describe(int ordinal) {
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
  for (int i = 0; i < count; ++i) gpus.push_back(describe(i));
  return gpus;
}

std::shared_ptr<Device> open_cuda(int ordinal) { return std::make_shared<CudaDevice>(ordinal); }

const bool registered = register_gpus({"cuda", list_cuda, open_cuda});

}  // namespace
}  // namespace robusta
