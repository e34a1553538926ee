// Normalize on the GPU (backends/gpu/row_norm.h).

#include "layers/backends/gpu/row_norm.h"

namespace robusta {

ROBUSTA_REGISTER_GPU_ROW_NORM(Normalize);

}  // namespace robusta
