/// By what a loss layer divides its sum.
///
/// All loss layers ask the one function here, which also knows how the ranks of a training share a divisor.
#pragma once

#include <cstdint>
#include <optional>

#include "caffe.pb.h"
#include "layers/kit/step_reduce.h"

namespace robusta {

class LossNormalizer {
 public:
  using Mode = caffe::LossParameter::NormalizationMode;

  /// `otherwise`: the mode when the prototxt gives neither `normalization` nor the old `normalize`.
  LossNormalizer(const caffe::LossParameter& param, Mode otherwise);
  /// Of a loss that counts what it finds in the data: VALID then differs from rank to rank without a label to ignore.
  static LossNormalizer of_findings(const caffe::LossParameter& param, Mode otherwise);

  /// Labels that count neither for the loss nor for VALID.
  std::optional<int> ignored() const { return ignored_; }
  /// True when divisor() depends on `valid`: GPUs, where the labels are, then count for themselves.
  bool counts_labels() const { return mode_ == caffe::LossParameter::VALID && (ignored_ || finds_); }

  /// `valid` of `all` labels of this rank are not ignored; `batch`: its samples. Losses and gradients are averaged over
  /// the `ranks` (null: one): the result is Caffe's divisor for the batch of all of them, never below 1, divided by
  /// their number.
  double divisor(int64_t valid, int64_t all, int64_t batch, StepReduce* ranks) const;

 private:
  Mode mode_;
  double fixed_;  ///< PRE_FIXED: the divisor of Intel's pre_fixed_normalizer
  std::optional<int> ignored_;
  bool finds_ = false;
};

}  // namespace robusta
