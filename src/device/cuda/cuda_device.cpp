// Memory of one GPU by the CUDA runtime. Every call makes the GPU the thread's current one first.

#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include "base/str.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/dnn/context.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string bytes_text(size_t bytes) { return str((bytes + (1 << 19)) >> 20, " MiB"); }

}  // namespace

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal) {
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  model_ = properties.name;
  name_ = str("GPU ", ordinal, " (", model_, ")");
  total_ = properties.totalGlobalMem;
  generation_ = properties.major;
  char id[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(id, sizeof id, ordinal), "cudaDeviceGetPCIBusId");
  place_ = id;
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

void CudaDevice::end_stream(cudaStream_t stream) {
  if (dnn_) dnn_->leave(stream);
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

std::shared_ptr<void> CudaDevice::pin(void* memory, size_t bytes) {
  make_current();
  if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess) {
    return {memory, [](void* p) { cudaHostUnregister(p); }};
  }
  cudaGetLastError();
  return nullptr;
}

size_t CudaDevice::free_memory() const {
  make_current();
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

}  // namespace robusta
