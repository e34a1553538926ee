// Layers of type "Python" in nets of a GPU: their arrays go by the host. Tops are f32, and so are the bottoms that
// come.

#include <algorithm>

#include "api/host/host_kernel.h"
#include "device/gpu/host_values.h"

namespace robusta::v1 {
namespace {

class HostGpu : public HostKernel {
 public:
  explicit HostGpu(const robusta::KernelRequest& request) : HostKernel(request) {
    booking_.bottom_types.assign(request.bottoms.size(), robusta::DType::kF32);
    booking_.top_types.assign(request.tops.size(), robusta::DType::kF32);
  }

 private:
  std::vector<float> fetch(Stream* stream, const Tensor& from) const override {
    std::vector<float> numbers(static_cast<size_t>(from.count()));
    copy_to_host(stream, numbers.data(), from.data, from.desc.bytes());
    wait_for_copies(stream);
    return numbers;
  }

  void store(Stream* stream, std::span<const float> numbers, const Tensor& to) const override {
    copy_from_host(stream, to.data, numbers.data(), std::min(numbers.size_bytes(), to.desc.bytes()));
    wait_for_copies(stream);
  }
};

std::unique_ptr<robusta::Kernel> make_python_gpu(const robusta::KernelRequest& request, std::string&) {
  return std::make_unique<HostGpu>(request);
}

const bool registered_python_gpu = robusta::register_kernel({"Python", "gpu", kGpuKind, 0, make_python_gpu});

}  // namespace
}  // namespace robusta::v1
