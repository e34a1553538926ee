// LSTMUnit on the GPU, on plain arrays. States are f32 whatever the gates are stored as.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/recurrent_machine.h"
#include "layers/types/lstm_unit/lstm_unit.h"

namespace robusta {
namespace {

template <typename T>
using LstmUnitGpu = LstmUnitKernel<GpuMachine<T>>;

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("LSTMUnit", LstmUnitGpu);

}  // namespace robusta
