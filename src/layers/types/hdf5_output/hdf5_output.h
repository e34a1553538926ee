/// HDF5Output: what bottoms 0 and 1 hold becomes the datasets "data" and "label" of a file, batch behind batch. Each
/// has the four axes of Caffe's blobs. The file is made by the first pass, so that a net that is only planned or
/// checked leaves alone what is there.
#pragma once

#include <memory>

#include "data/hdf5_access.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"

namespace robusta {

class Hdf5OutputLayer : public Layer {
 public:
  explicit Hdf5OutputLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 0, 0}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// Writes both bottoms, plain, in memory of the host.
  void write(const Tensor& data, const Tensor& label, const Pass& pass) const;

 private:
  mutable std::unique_ptr<Hdf5Appender> file_;  // of the thread that drives the net
};

/// The kernel of all devices: what it needs, and no gradient.
class Hdf5OutputKernel : public Kernel {
 public:
  explicit Hdf5OutputKernel(const KernelRequest& request);
  std::string describe() const override { return "reference"; }

 protected:
  const Hdf5OutputLayer& layer_;
};

}  // namespace robusta
