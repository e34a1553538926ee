// Streams, events and graphs of the CUDA runtime, and the cuBLAS handle that works in each stream.
//
// What always holds: an event is used again only when nobody but the pool holds it.

#include "device/cuda/cuda_stream.h"

#include <mutex>

#include "base/str.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/dnn/context.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Whoever waits or asks may be a thread that has no current GPU yet: CUDA would then start GPU 0 for it.
class CudaEvent : public Event {
 public:
  /// Of the current GPU, which is `device`.
  CudaEvent(const CudaDevice& device, bool timed) : device_(device) {
    const unsigned flags = timed ? cudaEventDefault : cudaEventDisableTiming;
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  void wait() override {
    device_.make_current();
    check_cuda(cudaEventSynchronize(event_), "a kernel");
  }
  bool reached() override {
    device_.make_current();
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) check_cuda(status, "a kernel");
    if (status != cudaSuccess) cudaGetLastError();  // "not ready" counts as one, and the next launch would report it
    return status == cudaSuccess;
  }
  double ms_since(const Event& earlier) const override {
    float ms = 0;
    const cudaEvent_t begin = static_cast<const CudaEvent&>(earlier).event_;
    check_cuda(cudaEventElapsedTime(&ms, begin, event_), "cudaEventElapsedTime");
    return ms;
  }
  cudaEvent_t handle() const { return event_; }

 private:
  const CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
};

/// Ready to be launched. CUDA keeps it until launches under way have run.
class CudaGraph : public Recording {
 public:
  explicit CudaGraph(cudaGraph_t recorded) {
    check_cuda(cudaGraphInstantiateWithFlags(&ready_, recorded, 0), "cudaGraphInstantiate");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(ready_); }
  cudaGraphExec_t handle() const { return ready_; }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

void check_blas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kDevice, str("cuBLAS cannot start: ", cublasGetStatusString(status)),
              "free memory of the GPU, or use the cuBLAS of the toolkit that this program was built with");
}

/// Partial sums of a product stay f32 where its result is of 16 bits: by default cuBLAS may round them.
cublasMath_t math_of(bool tf32) {
  const int mode = tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH;
  return static_cast<cublasMath_t>(mode | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}

}  // namespace

/// Events whose last user has let go are used again: the pool itself is then the only owner.
struct CudaStream::EventPool {
  const CudaDevice& device;
  bool timed;
  std::vector<std::shared_ptr<CudaEvent>> all = {};
  size_t next = 0;

  std::shared_ptr<CudaEvent> take() {
    for (size_t i = 0; i < all.size(); ++i) {
      const auto& event = all[next = (next + 1) % all.size()];
      if (event.use_count() == 1) return event;
    }
    return all.emplace_back(std::make_shared<CudaEvent>(device, timed));
  }
};

CudaStream::CudaStream(CudaDevice& device)
    : device_(device), events_(new EventPool{device, false}), timed_events_(new EventPool{device, true}) {
  device_.make_current();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

CudaStream::~CudaStream() {
  // Nothing is checked here: an error has been, or will be, reported by the call that met it first.
  cudaSetDevice(device_.ordinal());
  cudaStreamSynchronize(stream_);
  device_.end_stream(stream_);
  if (blas_) cublasDestroy(blas_);
  cudaStreamDestroy(stream_);
}

void CudaStream::run(std::function<void()> work) {
  device_.make_current();
  work();
}

void CudaStream::copy_to_device(void* to, const void* from_host, size_t bytes) {
  if (bytes == 0) return;
  device_.make_current();
  check_cuda(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync to the device");
}

void CudaStream::copy_to_host(void* to_host, const void* from, size_t bytes) {
  if (bytes == 0) return;
  device_.make_current();
  check_cuda(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync to the host");
}

void CudaStream::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  device_.make_current();
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync within the device");
}

void CudaStream::fill_zero(void* to, size_t bytes) {
  if (bytes == 0) return;
  device_.make_current();
  check_cuda(cudaMemsetAsync(to, 0, bytes, stream_), "cudaMemsetAsync");
}

/// Steps run once before they are recorded, so that memory is taken, and zeros are written, outside of a recording.
unsigned* CudaStream::counters(size_t bytes) {
  if (counters_.bytes() == 0) {
    counters_ = DeviceBuffer(device_, bytes);
    fill_zero(counters_.data(), bytes);
  }
  return static_cast<unsigned*>(counters_.data());
}

std::shared_ptr<Event> CudaStream::record() { return record_from(*events_); }

std::shared_ptr<Event> CudaStream::record_timed() { return record_from(*timed_events_); }

std::shared_ptr<Event> CudaStream::record_from(EventPool& pool) {
  device_.make_current();
  auto event = pool.take();
  // While it captures an event is an edge of the graph; one that times is to be a node that each launch comes by.
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  if (pool.timed) check_cuda(cudaStreamIsCapturing(stream_, &capturing), "cudaStreamIsCapturing");
  const unsigned kind = capturing == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault;
  check_cuda(cudaEventRecordWithFlags(event->handle(), stream_, kind), "cudaEventRecord");
  return event;
}

void CudaStream::wait(const std::shared_ptr<Event>& event) {
  device_.make_current();
  const auto& cuda_event = static_cast<const CudaEvent&>(*event);
  check_cuda(cudaStreamWaitEvent(stream_, cuda_event.handle(), 0), "cudaStreamWaitEvent");
}

void CudaStream::synchronize() {
  device_.make_current();
  check_cuda(cudaStreamSynchronize(stream_), "a kernel");
}

/// Of the calling thread alone: other threads may take memory and wait meanwhile.
void CudaStream::begin_recording() {
  device_.make_current();
  check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

std::unique_ptr<Recording> CudaStream::end_recording() {
  cudaGraph_t recorded = nullptr;
  check_cuda(cudaStreamEndCapture(stream_, &recorded), "cudaStreamEndCapture");
  const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(recorded, cudaGraphDestroy);
  return std::make_unique<CudaGraph>(recorded);
}

void CudaStream::abandon_recording() noexcept {
  cudaGraph_t recorded = nullptr;
  cudaStreamEndCapture(stream_, &recorded);
  if (recorded) cudaGraphDestroy(recorded);
  cudaGetLastError();  // the next launch would report it
}

void CudaStream::launch(Recording& recording) {
  device_.make_current();
  check_cuda(cudaGraphLaunch(static_cast<CudaGraph&>(recording).handle(), stream_), "cudaGraphLaunch");
}

void CudaStream::start_blas() {
  // With the workspaces of its own pool cuBLAS repeats its results only where a single stream is in use; and memory
  // that it takes while working could not be part of a CUDA graph. Sizes as NVIDIA recommends them.
  blas_workspace_ = DeviceBuffer(device_, device_.generation() >= 9 ? size_t{32} << 20 : size_t{4} << 20);
  check_blas(cublasCreate(&blas_));
  check_blas(cublasSetStream(blas_, stream_));  // which takes the workspace away
  check_blas(cublasSetWorkspace(blas_, blas_workspace_.data(), blas_workspace_.bytes()));
  check_blas(cublasSetMathMode(blas_, math_of(blas_tf32_)));
}

cublasHandle_t CudaStream::blas() {
  device_.make_current();
  if (!blas_) start_blas();
  const bool tf32 = device_.math().tf32;
  if (tf32 != blas_tf32_) check_blas(cublasSetMathMode(blas_, math_of(tf32)));
  blas_tf32_ = tf32;
  return blas_;
}

cudnnHandle_t CudaStream::dnn() {
  device_.make_current();
  return device_.dnn().on(stream_);
}

void check_launch() { check_cuda(cudaGetLastError(), "launching a kernel"); }

}  // namespace robusta
