// LSTM on the GPU, on plain arrays.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/recurrent_machine.h"
#include "layers/types/lstm/lstm_kernel.h"

namespace robusta {
namespace {

template <typename T>
using LstmGpu = LstmKernel<GpuMachine<T>>;

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("LSTM", LstmGpu);

}  // namespace robusta
