// One cuDNN handle per device, pointed at the stream that asks.

#include "device/cuda/dnn/context.h"

#include "device/cuda/dnn/dnn_error.h"

namespace robusta::dnn {

Context::Context() {
  keep_compiler_loaded();
  check_dnn(cudnnCreate(&handle_), "cudnnCreate");
}

Context::~Context() { cudnnDestroy(handle_); }

cudnnHandle_t Context::on(cudaStream_t stream) {
  if (stream != stream_) check_dnn(cudnnSetStream(handle_, stream), "cudnnSetStream");
  stream_ = stream;
  return handle_;
}

void Context::leave(cudaStream_t stream) {
  if (stream != stream_) return;
  cudnnSetStream(handle_, nullptr);
  stream_ = nullptr;
}

}  // namespace robusta::dnn
