// Yolov3 on the GPU (backends/gpu/anchor_loss.h).

#include "layers/backends/gpu/anchor_loss.h"
#include "layers/types/yolov3/yolov3.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_yolov3_gpu(const KernelRequest& request, std::string& why_not) {
  return make_anchor_loss_gpu<Yolov3Rule>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Yolov3", "gpu", 10, make_yolov3_gpu);

}  // namespace robusta
