// MaskResize on the GPU (backends/gpu/sampling.h).

#include "layers/backends/gpu/sampling.h"

namespace robusta {

ROBUSTA_REGISTER_GPU_SAMPLING(MaskResize);

}  // namespace robusta
