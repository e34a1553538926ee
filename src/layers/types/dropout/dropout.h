/// Dropout: clears each element with probability `dropout_ratio` when training and scales the others up, so that the
/// expectation stays; passes everything on when testing (Srivastava et al. 2014). Shared by its kernels.
#pragma once

#include "base/philox.h"
#include "layers/kit/booking.h"

namespace robusta {

class DropoutLayer : public Layer {
 public:
  explicit DropoutLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  float ratio() const { return param().dropout_param().dropout_ratio(); }
};

/// Which elements survive: a pure function of the run's seed, the layer's name, the sample's position in the training
/// and the element's place in the sample. Element i of a sample looks at word i % 4 of Philox block i / 4.
struct DropoutMask {
  DropoutMask(const DropoutLayer& layer, const KernelRun& run, int64_t count);

  uint64_t key;
  const uint64_t* first_sample;  ///< in the device's memory
  int64_t samples, per_sample;
  uint32_t threshold;  ///< words below it drop their element
};

/// What all kernels have in common when training: values and gradients go through one mask, in place or not.
class DropoutKernel : public Kernel {
 public:
  explicit DropoutKernel(const KernelRequest& request) : layer_(request.layer<DropoutLayer>()) {
    book_reads_nothing(1, booking_);
    book_in_place(booking_);
  }
  void forward(const KernelRun& run) override { apply(run, run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) apply(run, run.top_diffs[0], run.bottom_diffs[0]);
  }

 protected:
  virtual void apply(const KernelRun& run, const Tensor& from, const Tensor& to) const = 0;
  /// What survivors are multiplied by.
  template <typename T>
  T scale() const {
    return 1 / (1 - static_cast<T>(layer_.ratio()));
  }

  const DropoutLayer& layer_;
};

}  // namespace robusta
