// RNN on plain f32 arrays.

#include "layers/kit/elementwise.h"
#include "layers/kit/recurrent/host_machine.h"
#include "layers/types/rnn/rnn_kernel.h"

namespace robusta {
namespace {

using RnnNative = RnnKernel<HostMachine>;

}  // namespace

ROBUSTA_REGISTER_NATIVE("RNN", RnnNative);

}  // namespace robusta
