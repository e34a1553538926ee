// HDF5Output on the GPU: both bottoms as floats, copied to the host in every pass.

#include "device/gpu/copy.h"
#include "layers/types/hdf5_output/hdf5_output.h"

namespace robusta {
namespace {

class Hdf5OutputGpu : public Hdf5OutputKernel {
 public:
  explicit Hdf5OutputGpu(const KernelRequest& request) : Hdf5OutputKernel(request) {
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
#ifdef __CUDACC__
    for (size_t i = 0; i < 2; ++i) {
      copies_[i].resize(static_cast<size_t>(run.bottoms[i].count()));
      run.stream->copy_to_host(copies_[i].data(), run.bottoms[i].data, run.bottoms[i].desc.bytes());
    }
    run.stream->synchronize();
    layer_.write({run.bottoms[0].desc, copies_[0].data()}, {run.bottoms[1].desc, copies_[1].data()}, *run.pass);
#else
    layer_.write(run.bottoms[0], run.bottoms[1], *run.pass);
#endif
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) gpu_fill_zero(run.stream, diff.data, diff.desc.bytes());
    }
  }

 private:
  std::vector<float> copies_[2];  // on the host, of a GPU's bottoms
};

std::unique_ptr<Kernel> make_hdf5_output_gpu(const KernelRequest& request, std::string&) {
  return std::make_unique<Hdf5OutputGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("HDF5Output", "gpu", 10, make_hdf5_output_gpu);

}  // namespace robusta
