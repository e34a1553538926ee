// Streams are made for a GPU, and libraries started in one of them.

#include "device/cuda/cuda_handle.h"

#include "device/cuda/cuda_stream.h"

namespace robusta {

std::unique_ptr<Stream> CudaGpu::make_stream() { return std::make_unique<CudaStream>(*this); }

void CudaGpu::start_libraries() {
  dnn();
  CudaStream(*this).blas();  // its code stays when the handle is given up
}

}  // namespace robusta
