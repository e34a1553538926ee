// MaskPooling on the GPU (backends/gpu/product.h).

#include "layers/backends/gpu/product.h"

namespace robusta {

ROBUSTA_REGISTER_GPU_PRODUCT(MaskPooling);

}  // namespace robusta
