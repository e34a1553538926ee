/// One NVIDIA GPU with its streams: what the rest of the program knows as a Device.
#pragma once

#include "device/cuda/cuda_device.h"

namespace robusta {

class CudaGpu final : public CudaDevice {
 public:
  using CudaDevice::CudaDevice;
  std::unique_ptr<Stream> make_stream() override;
  /// Has cuDNN and cuBLAS take what memory they need once, for their code and contexts, so that free_memory() no
  /// longer counts it. Throws Error{kDevice|kUnsupported|kMemory}.
  void start_libraries();
};

}  // namespace robusta
