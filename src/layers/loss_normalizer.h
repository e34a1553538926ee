/// By what a loss layer divides its sum.
///
/// All loss layers ask the one function here, so that a sum over the labels of several ranks has one place to enter.
#pragma once

#include <cstdint>
#include <optional>

#include "caffe.pb.h"

namespace robusta {

class LossNormalizer {
 public:
  using Mode = caffe::LossParameter::NormalizationMode;

  /// `otherwise`: the mode when the prototxt gives neither `normalization` nor the old `normalize`.
  LossNormalizer(const caffe::LossParameter& param, Mode otherwise);

  /// Labels that count neither for the loss nor for VALID.
  std::optional<int> ignored() const { return ignored_; }

  /// `valid` of `all` labels are not ignored; `batch`: samples. Never below 1, as in Caffe.
  double divisor(int64_t valid, int64_t all, int64_t batch) const;

 private:
  Mode mode_;
  double fixed_;
  std::optional<int> ignored_;
};

}  // namespace robusta
