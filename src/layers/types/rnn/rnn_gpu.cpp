// RNN on the GPU, on plain arrays.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/recurrent_machine.h"
#include "layers/types/rnn/rnn_kernel.h"

namespace robusta {
namespace {

template <typename T>
using RnnGpu = RnnKernel<GpuMachine<T>>;

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("RNN", RnnGpu);

}  // namespace robusta
