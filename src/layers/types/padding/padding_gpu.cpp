// Padding on the GPU: a gather (backends/gpu/gather.h).

#include "layers/backends/gpu/gather.h"

namespace robusta {

ROBUSTA_REGISTER_GPU_GATHER(Padding);

}  // namespace robusta
