/// MatWrite: every `period`th pass writes its bottoms as files of MATLAB, one each (TheLegendAli/DeepLab-Context,
/// src/caffe/layers/mat_write_layer.cpp): <prefix><name>_blob_<bottom>.mat, with the name from a line of the list
/// `source`, without its last `strip` letters, or "iter_<pass>" where there is no list. Names are those of passes: the
/// fork counts them so, with batches of one image in mind.
///
/// The list is read before the first pass; where a net is only planned or timed it may be absent. Folders of the prefix
/// have to exist. One rank only.
#pragma once

#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"
#include "layers/kit/reads_files.h"

namespace robusta {

class MatWriteLayer : public Layer, public ReadsFiles {
 public:
  explicit MatWriteLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, -1, 0, 0}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  void read_files(bool may_be_absent) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// Whether the pass that comes next is one that is written.
  bool writes() const { return passes_ % param().mat_write_param().period() == 0; }
  /// Counts a pass, and writes what its bottoms hold: plain, in memory of the host.
  void write(const std::vector<Tensor>& bottoms, const Pass& pass) const;

 private:
  std::string place(size_t bottom) const;

  std::vector<std::string> names_;
  bool reads_list_ = true;      ///< it has not been read yet
  mutable int64_t passes_ = 0;  // of the thread that drives the net
};

/// The kernel of all devices: what it needs, and no gradient.
class MatWriteKernel : public Kernel {
 public:
  explicit MatWriteKernel(const KernelRequest& request);
  std::string describe() const override { return "reference"; }

 protected:
  const MatWriteLayer& layer_;
};

}  // namespace robusta
