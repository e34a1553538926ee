// LSTM on plain f32 arrays.

#include "layers/kit/elementwise.h"
#include "layers/kit/recurrent/host_machine.h"
#include "layers/types/lstm/lstm_kernel.h"

namespace robusta {
namespace {

using LstmNative = LstmKernel<HostMachine>;

}  // namespace

ROBUSTA_REGISTER_NATIVE("LSTM", LstmNative);

}  // namespace robusta
