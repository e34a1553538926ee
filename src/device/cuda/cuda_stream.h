/// A stream of one GPU, with the handles of NVIDIA's libraries that work in it.
///
/// The driving thread enqueues; `run` calls its work at once, which then launches kernels. Events come from a pool of
/// the stream: a steady pass makes none.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "device/cuda/cuda_libraries.h"
#include "device/device.h"

namespace robusta {

class CudaDevice;

class CudaStream : public Stream {
 public:
  explicit CudaStream(CudaDevice& device);
  ~CudaStream() override;

  void run(std::function<void()> work) override;
  void copy_to_device(void* to, const void* from_host, size_t bytes) override;
  void copy_to_host(void* to_host, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void fill_zero(void* to, size_t bytes) override;
  std::shared_ptr<Event> record() override;
  std::shared_ptr<Event> record_timed() override;
  void wait(const std::shared_ptr<Event>& event) override;
  void synchronize() override;
  void* native() override { return stream_; }

  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;
  void abandon_recording() noexcept override;
  void launch(Recording& recording) override;

  CudaDevice& device() { return device_; }
  cudaStream_t handle() const { return stream_; }
  /// cuBLAS, made when first asked for, as the device's MathOptions want it. With a workspace of the stream's own, so
  /// that results repeat bit for bit. Throws Error{kDevice|kMemory}.
  cublasHandle_t blas();
  /// Memory of the stream's own, for kernels that leave it as they find it: all 0. Made when first asked for.
  /// REQUIRES: always the same number of bytes. Throws Error{kDevice|kMemory}.
  unsigned* counters(size_t bytes);
  /// The device's cuDNN, for work in this stream. Throws Error{kDevice|kUnsupported}.
  cudnnHandle_t dnn();

 private:
  struct EventPool;
  std::shared_ptr<Event> record_from(EventPool& pool);
  void start_blas();

  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  bool blas_tf32_ = false;
  DeviceBuffer blas_workspace_;  ///< of this stream alone, so that recorded products have it, too
  DeviceBuffer counters_;
  std::shared_ptr<EventPool> events_, timed_events_;  ///< events may outlive the stream
};

inline cudaStream_t cuda_stream(Stream* stream) { return static_cast<CudaStream*>(stream)->handle(); }

/// Throws Error{kDevice} when the launch just made was refused.
void check_launch();

}  // namespace robusta
