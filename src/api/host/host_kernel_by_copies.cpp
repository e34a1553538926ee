// Layers of type "Python" in nets of a GPU: their arrays go by the host. Tops are f32, and so are the bottoms that
// come.
//
// There is no kernel for nvcc here: copies are the stream's. Emulated, a kernel is a piece of the stream's work
// already, and its memory is the host's.

#include <algorithm>
#include <cstring>

#include "api/host/host_kernel.h"

namespace robusta::v1 {
namespace {

class HostByCopies : public HostKernel {
 public:
  explicit HostByCopies(const robusta::KernelRequest& request)
      : HostKernel(request), emulated_(request.device->kernel_kind() == "emulated") {
    booking_.bottom_types.assign(request.bottoms.size(), robusta::DType::kF32);
    booking_.top_types.assign(request.tops.size(), robusta::DType::kF32);
  }

 private:
  std::vector<float> fetch(Stream* stream, const Tensor& from) const override {
    std::vector<float> numbers(static_cast<size_t>(from.count()));
    if (emulated_) {
      std::memcpy(numbers.data(), from.data, from.desc.bytes());
    } else {
      stream->copy_to_host(numbers.data(), from.data, from.desc.bytes());
      stream->synchronize();
    }
    return numbers;
  }

  void store(Stream* stream, std::span<const float> numbers, const Tensor& to) const override {
    const size_t bytes = std::min(numbers.size_bytes(), to.desc.bytes());
    if (emulated_) {
      std::memcpy(to.data, numbers.data(), bytes);
    } else {
      stream->copy_to_device(to.data, numbers.data(), bytes);
      stream->synchronize();
    }
  }

  bool emulated_;
};

std::unique_ptr<robusta::Kernel> make_python_by_copies(const robusta::KernelRequest& request, std::string&) {
  return std::make_unique<HostByCopies>(request);
}

const bool registered_python_cuda = robusta::register_kernel({"Python", "gpu", "cuda", 0, make_python_by_copies});
const bool registered_python_emulated =
    robusta::register_kernel({"Python", "gpu", "emulated", 0, make_python_by_copies});

}  // namespace
}  // namespace robusta::v1
