// MatWrite on the GPU: the bottoms as floats, copied to the host in the passes that are written.

#include "device/gpu/copy.h"
#include "layers/types/mat_write/mat_write.h"

namespace robusta {
namespace {

class MatWriteGpu : public MatWriteKernel {
 public:
  explicit MatWriteGpu(const KernelRequest& request) : MatWriteKernel(request), copies_(request.bottoms.size()) {
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    std::vector<Tensor> bottoms(run.bottoms.begin(), run.bottoms.end());
#ifdef __CUDACC__
    if (layer_.writes()) {
      for (size_t i = 0; i < bottoms.size(); ++i) {
        copies_[i].resize(static_cast<size_t>(bottoms[i].count()));
        run.stream->copy_to_host(copies_[i].data(), bottoms[i].data, bottoms[i].desc.bytes());
        bottoms[i].data = copies_[i].data();
      }
      run.stream->synchronize();
    }
#endif
    layer_.write(bottoms, *run.pass);
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) gpu_fill_zero(run.stream, diff.data, diff.desc.bytes());
    }
  }

 private:
  std::vector<std::vector<float>> copies_;  // on the host, of a GPU's bottoms
};

std::unique_ptr<Kernel> make_mat_write_gpu(const KernelRequest& request, std::string&) {
  return std::make_unique<MatWriteGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("MatWrite", "gpu", 10, make_mat_write_gpu);

}  // namespace robusta
