/// One NVIDIA GPU, by CUDA's runtime: all of it but its streams (cuda_gpu.h), which are made for one.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "device/device.h"

namespace robusta {

namespace dnn {
class Context;
}

class CudaDevice : public Device {
 public:
  /// `ordinal` among those that CUDA_VISIBLE_DEVICES leaves. Throws Error{kDevice|kUnsupported}.
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  std::string name() const override { return name_; }
  std::string kernel_kind() const override { return "cuda"; }
  bool is_host() const override { return false; }
  std::string place() const override { return place_; }
  void make_current() const override;
  bool records_graphs() const override { return true; }
  void* allocate(size_t bytes) override;
  void deallocate(void* memory) override;
  std::shared_ptr<void> host_memory(size_t bytes) override;
  std::shared_ptr<void> pin(void* memory, size_t bytes) override;
  size_t total_memory() const override { return total_; }
  size_t free_memory() const override;
  /// Since Ampere.
  bool multiplies_bf16() const override { return generation_ >= 8; }

  int ordinal() const { return ordinal_; }
  /// As NVIDIA calls it: "NVIDIA H100 80GB HBM3".
  const std::string& model() const { return model_; }
  /// The first number of the compute capability: 9 for 9.0.
  int generation() const { return generation_; }
  /// Made when first asked for. Throws Error{kDevice|kUnsupported}.
  dnn::Context& dnn();
  /// Before a stream of this device ends.
  void end_stream(cudaStream_t stream);

 private:
  int ordinal_, generation_ = 0;  ///< CUDA's number; the major number of the compute capability
  std::string name_, model_, place_;
  size_t total_ = 0;  ///< bytes
  std::unique_ptr<dnn::Context> dnn_;
};

}  // namespace robusta
