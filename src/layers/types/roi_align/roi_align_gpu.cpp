// ROIAlign on the GPU (backends/gpu/region_samples.h).

#include "layers/backends/gpu/region_samples.h"

namespace robusta {

ROBUSTA_REGISTER_GPU_REGION_SAMPLING(ROIAlign);

}  // namespace robusta
