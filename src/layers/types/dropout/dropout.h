/// Dropout: clears each element with probability `dropout_ratio` when training and scales the others up, so that the
/// expectation stays; passes everything on when testing (Srivastava et al. 2014). Shared by its kernels.
///
/// Two forks do it otherwise: with scale_train false (microsoft/caffe, src/caffe/layers/dropout_layer.cpp) nothing is
/// scaled when training, and everything by the share that survives when testing; with sample_weights_test (the same
/// file of alexgkendall/caffe-segnet) testing is done as training is, which samples from what a net is unsure of.
#pragma once

#include "base/philox.h"
#include "layers/kit/booking.h"
#include "layers/kit/in_place.h"

namespace robusta {

class DropoutLayer : public Layer, public LeavesContent {
 public:
  explicit DropoutLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  Content leaves() const override { return scale<float>() == 1 ? Content::kAll : Content::kSigns; }
  float ratio() const { return param().dropout_param().dropout_ratio(); }
  /// Whether elements are cleared.
  bool drops() const { return training() || param().dropout_param().sample_weights_test(); }
  /// What those are multiplied by that are not.
  template <typename T>
  T scale() const {
    const T survive = 1 - static_cast<T>(ratio());
    if (drops()) return scales_training() ? 1 / survive : T{1};
    return scales_training() ? T{1} : survive;
  }
  /// Whether the top is the bottom.
  bool passes_on() const { return !drops() && scales_training(); }

 private:
  bool scales_training() const { return param().dropout_param().scale_train(); }
};

/// Which elements survive: a pure function of the run's seed, the layer's name, the sample's position in the training
/// and the element's place in the sample. Element i of a sample looks at word i % 4 of Philox block i / 4.
struct DropoutMask {
  DropoutMask(const DropoutLayer& layer, const KernelRun& run, int64_t count);

  uint64_t key;
  const uint64_t* first_sample;  ///< in the device's memory
  int64_t samples, per_sample;
  uint32_t threshold;  ///< words below it drop their element; 0: none is dropped
};

/// What all kernels have in common unless the layer passes on: values and gradients go through one mask, in place or
/// not.
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
  const DropoutLayer& layer_;
};

}  // namespace robusta
