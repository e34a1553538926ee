// The file, and the kernel of the host.

#include "layers/types/hdf5_output/hdf5_output.h"

#include "base/str.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

constexpr char kFileName[] = "hdf5_output_param.file_name";

/// As Caffe's blobs had them: num, channels, height, width; what has more axes keeps them.
Tensor with_four_axes(const Tensor& tensor) {
  std::vector<int64_t> dims = tensor.desc.shape.dims();
  while (dims.size() < 4) dims.push_back(1);
  return {{Shape(dims), tensor.desc.dtype, nullptr}, tensor.data};
}

}  // namespace

Hdf5OutputLayer::Hdf5OutputLayer(const caffe::LayerParameter& param) : Layer(param) {
  hdf5_access();
  if (param.hdf5_output_param().file_name().empty())
    throw Error(ErrorKind::kConfig, "no file is given", "name the HDF5 file to write").in_field(kFileName);
}

std::vector<Shape> Hdf5OutputLayer::infer_tops(const std::vector<Shape>& bottoms) {
  for (const Shape& bottom : bottoms) {
    if (bottom.axes() == 0) throw Error(ErrorKind::kConfig, "a single number has no samples to write");
  }
  if (bottoms[0][0] != bottoms[1][0]) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has ", bottoms[0][0], " samples, bottom 1 has ", bottoms[1][0]),
                "give both as many");
  }
  return {};
}

void Hdf5OutputLayer::write(const Tensor& data, const Tensor& label, const Pass& pass) const {
  if (pass.ranks && pass.ranks->ranks() > 1) {
    throw Error(ErrorKind::kUnsupported, "several ranks cannot write one HDF5 file", "train with one rank");
  }
  try {
    if (!file_) file_ = hdf5_access().create(param().hdf5_output_param().file_name());
    file_->append("data", with_four_axes(data));
    file_->append("label", with_four_axes(label));
  } catch (Error& error) {
    throw error.in_field(kFileName);
  }
}

Hdf5OutputKernel::Hdf5OutputKernel(const KernelRequest& request) : layer_(request.layer<Hdf5OutputLayer>()) {
  book_reads_nothing(request.bottoms.size(), booking_);
  booking_.host_work = true;
}

namespace {

class Hdf5OutputReference : public Hdf5OutputKernel {
 public:
  using Hdf5OutputKernel::Hdf5OutputKernel;
  void forward(const KernelRun& run) override { layer_.write(run.bottoms[0], run.bottoms[1], *run.pass); }
  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) fill_zero(diff);
    }
  }
};

std::unique_ptr<Kernel> make_hdf5_output(const KernelRequest& request, std::string&) {
  return std::make_unique<Hdf5OutputReference>(request);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("HDF5Output", Hdf5OutputLayer);
ROBUSTA_REGISTER_KERNEL("HDF5Output", "reference", 0, make_hdf5_output);

}  // namespace robusta
